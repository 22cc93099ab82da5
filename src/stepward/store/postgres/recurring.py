"""Recurring tasks on the rows: each nominal time is fired once, because whoever fires moves the row on."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import astuple

from stepward.model.plan import NO_PLANS, Plans, from_json
from stepward.model.records import Schedule, Task
from stepward.store.postgres import journal
from stepward.store.postgres.connection import Connection
from stepward.store.postgres.submission import submit
from stepward.store.rules.verdicts import schedule_audit


async def register(connection: Connection, schedules: Sequence[Schedule]) -> None:
    """Record what an application declares."""
    for schedule in sorted(schedules, key=lambda schedule: schedule.name):
        await connection.change("recurring.register", *astuple(schedule))


async def fire(connection: Connection, schedule: Schedule, tasks: Sequence[Task], next_at: float | None) -> bool:
    """Move on from the nominal time that was read, and insert the tasks."""
    fired_at = schedule.next_at if tasks else None
    if not await connection.change("recurring.move_on", schedule.name, schedule.next_at, next_at, fired_at):
        return False
    await submit(connection, tasks, await _plans(connection, schedule))
    return True


async def _plans(connection: Connection, schedule: Schedule) -> Plans:
    row = await connection.row("recurring.plan", schedule.workflow, schedule.version)
    if row is None or row[0] is None:
        return NO_PLANS
    return {(schedule.workflow, schedule.version): from_json(row[0])}


async def pause_schedule(connection: Connection, name: str, actor: str, now: float) -> bool:
    """Fire it no more."""
    return await _audited(
        connection, "pause", name, actor, now, await connection.change("recurring.pause_schedule", name, now)
    )


async def resume_schedule(connection: Connection, name: str, next_at: float | None, actor: str, now: float) -> bool:
    """Fire it again; what its pause has swallowed is gone."""
    changed = await connection.change("recurring.resume_schedule", name, next_at)
    return await _audited(connection, "resume", name, actor, now, changed)


async def remove_schedule(connection: Connection, name: str, actor: str, now: float) -> bool:
    """Forget it."""
    changed = await connection.change("recurring.remove_schedule", name)
    return await _audited(connection, "remove", name, actor, now, changed)


async def _audited(connection: Connection, act: str, name: str, actor: str, now: float, changed: int) -> bool:
    if changed:
        journal.write_audits(connection, [schedule_audit(actor, act, name)], now)
    return changed == 1
