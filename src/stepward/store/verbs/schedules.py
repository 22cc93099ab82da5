"""Schedules of recurring tasks: each nominal time fires once, because firing moves the row on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import astuple

from stepward.model.records import Task
from stepward.model.schedule import Schedule
from stepward.model.schedule_overlap import Overlap
from stepward.model.states import TASK_ENDS, TaskState
from stepward.model.tasks.directives import DirectiveVerb
from stepward.store import rows
from stepward.store.contract import Directive, Firing
from stepward.store.partitions.placement import read_shards, shard_of
from stepward.store.rules.audit.audited_acts import schedule_audit
from stepward.store.rules.supervisor_rows import ACTOR
from stepward.store.verbs import alerts_and_audit
from stepward.store.verbs.connection import VerbConnection
from stepward.store.verbs.tasks import directives, new_tasks

NOT_TO_CANCEL = TASK_ENDS | {TaskState.UNDOING, TaskState.ERROR}


async def register(connection: VerbConnection, schedules: Sequence[Schedule]) -> None:
    """Records the schedules that an application declares; one that has moved to another partition is left out."""
    written = await connection.shards()
    if written is not None:
        held = read_shards(written)
        schedules = [schedule for schedule in schedules if shard_of(schedule.name) in held]
    for schedule in sorted(schedules, key=lambda schedule: schedule.name):
        await connection.change("schedules.register", *astuple(schedule))


async def listed(connection: VerbConnection) -> list[Schedule]:
    """All schedules, by name."""
    return [rows.schedule(row) for row in await connection.rows("schedules.listed")]


async def due(connection: VerbConnection, now: float, limit: int) -> list[Schedule]:
    """Schedules whose next nominal time has come."""
    return [rows.schedule(row) for row in await connection.rows("schedules.due", now, limit)]


async def fire(connection: VerbConnection, firings: Sequence[Firing], now: float) -> list[int | None]:
    """Moves each schedule on from the nominal time that was read, and inserts its tasks; returns how many of each, None
    if another process has moved on. Rows are locked in the order of names, then of tasks."""
    names = sorted(firing.schedule.name for firing in firings if firing.tasks)
    at_work: dict[str, str] = dict(await connection.rows("schedules.last_tasks", names)) if names else {}
    to_start = {firing.schedule.name: _to_start(firing, at_work) for firing in firings}
    ordered = sorted(firings, key=lambda firing: firing.schedule.name)
    moves = [_move(firing, to_start[firing.schedule.name]) for firing in ordered]
    moved = {moves[place][0] for place in await connection.applied("schedules.move_on", moves)}
    for name, task in at_work.items():
        if name in moved and to_start[name]:
            await _cancel(connection, task, now)
    begun = [(each.schedule, to_start[each.schedule.name]) for each in ordered if each.schedule.name in moved]
    await new_tasks.begin_all(connection, [((each.workflow, each.version), tasks) for each, tasks in begun if tasks])
    return [len(to_start[each.schedule.name]) if each.schedule.name in moved else None for each in firings]


def _to_start(firing: Firing, at_work: Mapping[str, str]) -> Sequence[Task]:
    is_skipped = firing.schedule.name in at_work and firing.schedule.overlap != Overlap.CANCEL
    return () if is_skipped else firing.tasks


def _move(firing: Firing, tasks: Sequence[Task]) -> tuple[Any, ...]:
    schedule = firing.schedule
    fired_at, last = (schedule.next_at, tasks[-1].id) if tasks else (None, None)
    return schedule.name, schedule.next_at, firing.next_at, fired_at, last


async def _cancel(connection: VerbConnection, id: str, now: float) -> None:
    row = await connection.row("client.lock_task", id)
    task = None if row is None else rows.task(row)
    if task is not None and task.state not in NOT_TO_CANCEL:
        await directives.direct(connection, task, Directive(verb=DirectiveVerb.CANCEL, actor=ACTOR), now)


async def create(connection: VerbConnection, schedule: Schedule, actor: str, now: float) -> bool:
    """Inserts a schedule; returns False if its name is taken. Raises ShardElsewhere."""
    await new_tasks.check_shards(connection, [schedule.name])
    changed = await connection.change("schedules.create", *astuple(schedule))
    return await _audited(connection, "create", schedule.name, actor, now, changed)


async def named(connection: VerbConnection, name: str) -> Schedule | None:
    """The schedule of that name."""
    row = await connection.row("schedules.named", name)
    return None if row is None else rows.schedule(row)


async def start(
    connection: VerbConnection, schedule: Schedule, tasks: Sequence[Task], act: str, actor: str, now: float
) -> list[str]:
    """Inserts tasks of a schedule beside its nominal times to come; returns the ids of those that are new.

    Raises ShardElsewhere.
    """
    await new_tasks.check_shards(connection, [schedule.name])
    begun = await new_tasks.begin(connection, tasks, schedule.workflow, schedule.version)
    ids = [task.id for task in begun if task.created]
    if ids and act == "trigger":
        await connection.change("schedules.note_task", schedule.name, ids[-1])
    await alerts_and_audit.write_audits(connection, [schedule_audit(actor, act, schedule.name, len(ids))], now)
    return ids


async def pause_schedule(connection: VerbConnection, name: str, actor: str, now: float) -> bool:
    """Pauses a schedule."""
    return await _audited(
        connection, "pause", name, actor, now, await connection.change("schedules.pause_schedule", name, now)
    )


async def resume_schedule(connection: VerbConnection, name: str, next_at: float | None, actor: str, now: float) -> bool:
    """Resumes a schedule; nominal times during its pause are skipped."""
    changed = await connection.change("schedules.resume_schedule", name, next_at)
    return await _audited(connection, "resume", name, actor, now, changed)


async def remove_schedule(connection: VerbConnection, name: str, actor: str, now: float) -> bool:
    """Removes a schedule."""
    changed = await connection.change("schedules.remove_schedule", name)
    return await _audited(connection, "remove", name, actor, now, changed)


async def _audited(connection: VerbConnection, act: str, name: str, actor: str, now: float, changed: int) -> bool:
    if changed:
        await alerts_and_audit.write_audits(connection, [schedule_audit(actor, act, name)], now)
    return changed == 1
