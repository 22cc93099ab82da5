"""Recurring tasks on the rows: each nominal time is fired once, because whoever fires moves the row on."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import astuple

from stepward.model.plan import NO_PLANS, Plans, from_json
from stepward.model.records import Schedule, Task
from stepward.store import rows
from stepward.store.queries import load_queries
from stepward.store.rules.verdicts import schedule_audit
from stepward.store.sqlite import journal
from stepward.store.sqlite.connection import Connection
from stepward.store.sqlite.rows import FRAGMENTS
from stepward.store.sqlite.submission import submit

Q = load_queries(__package__, "recurring.sql", FRAGMENTS)


def register(connection: Connection, schedules: Sequence[Schedule]) -> None:
    """Record what an application declares."""
    connection.change_many(Q["register"], map(astuple, schedules))


def listed(connection: Connection) -> list[Schedule]:
    """All of them, by name."""
    return [rows.schedule(row) for row in connection.rows(Q["listed"])]


def due(connection: Connection, now: float, limit: int) -> list[Schedule]:
    """Those whose next nominal time has come."""
    return [rows.schedule(row) for row in connection.rows(Q["due"], (now, limit))]


def fire(connection: Connection, schedule: Schedule, tasks: Sequence[Task], next_at: float | None) -> bool:
    """Move on from the nominal time that was read, and insert the tasks."""
    fired_at = schedule.next_at if tasks else None
    if not connection.change(Q["move_on"], (schedule.name, schedule.next_at, next_at, fired_at)):
        return False
    submit(connection, tasks, _plans(connection, schedule))
    return True


def _plans(connection: Connection, schedule: Schedule) -> Plans:
    row = connection.row(Q["plan"], (schedule.workflow, schedule.version))
    if row is None or row[0] is None:
        return NO_PLANS
    return {(schedule.workflow, schedule.version): from_json(row[0])}


def pause_schedule(connection: Connection, name: str, actor: str, now: float) -> bool:
    """Fire it no more."""
    return _audited(connection, "pause", name, actor, now, connection.change(Q["pause_schedule"], (name, now)))


def resume_schedule(connection: Connection, name: str, next_at: float | None, actor: str, now: float) -> bool:
    """Fire it again; what its pause has swallowed is gone."""
    return _audited(connection, "resume", name, actor, now, connection.change(Q["resume_schedule"], (name, next_at)))


def remove_schedule(connection: Connection, name: str, actor: str, now: float) -> bool:
    """Forget it."""
    return _audited(connection, "remove", name, actor, now, connection.change(Q["remove_schedule"], (name,)))


def _audited(connection: Connection, act: str, name: str, actor: str, now: float, changed: int) -> bool:
    if changed:
        journal.write_audits(connection, [schedule_audit(actor, act, name)], now)
    return changed == 1
