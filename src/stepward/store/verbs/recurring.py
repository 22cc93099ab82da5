"""Schedules of recurring tasks: each nominal time fires once, because firing moves the row on."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import astuple

from stepward.model.records import Schedule, Task
from stepward.store import rows
from stepward.store.rules.audit.audits import schedule_audit
from stepward.store.verbs import journal
from stepward.store.verbs.connection import VerbConnection
from stepward.store.verbs.tasks import new_tasks


async def register(connection: VerbConnection, schedules: Sequence[Schedule]) -> None:
    """Records the schedules that an application declares."""
    for schedule in sorted(schedules, key=lambda schedule: schedule.name):
        await connection.change("recurring.register", *astuple(schedule))


async def listed(connection: VerbConnection) -> list[Schedule]:
    """All schedules, by name."""
    return [rows.schedule(row) for row in await connection.rows("recurring.listed")]


async def due(connection: VerbConnection, now: float, limit: int) -> list[Schedule]:
    """Schedules whose next nominal time has come."""
    return [rows.schedule(row) for row in await connection.rows("recurring.due", now, limit)]


async def fire(connection: VerbConnection, schedule: Schedule, tasks: Sequence[Task], next_at: float | None) -> bool:
    """Moves on from the nominal time that was read, and inserts the tasks."""
    fired_at = schedule.next_at if tasks else None
    if not await connection.change("recurring.move_on", schedule.name, schedule.next_at, next_at, fired_at):
        return False
    await new_tasks.begin(connection, tasks, schedule.workflow, schedule.version)
    return True


async def pause_schedule(connection: VerbConnection, name: str, actor: str, now: float) -> bool:
    """Pauses a schedule."""
    return await _audited(
        connection, "pause", name, actor, now, await connection.change("recurring.pause_schedule", name, now)
    )


async def resume_schedule(connection: VerbConnection, name: str, next_at: float | None, actor: str, now: float) -> bool:
    """Resumes a schedule; nominal times during its pause are skipped."""
    changed = await connection.change("recurring.resume_schedule", name, next_at)
    return await _audited(connection, "resume", name, actor, now, changed)


async def remove_schedule(connection: VerbConnection, name: str, actor: str, now: float) -> bool:
    """Removes a schedule."""
    changed = await connection.change("recurring.remove_schedule", name)
    return await _audited(connection, "remove", name, actor, now, changed)


async def _audited(connection: VerbConnection, act: str, name: str, actor: str, now: float, changed: int) -> bool:
    if changed:
        await journal.write_audits(connection, [schedule_audit(actor, act, name)], now)
    return changed == 1
