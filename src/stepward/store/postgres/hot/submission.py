"""Submission on the rows: an id that exists starts nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import astuple

from stepward.model.plan import Plans, planned_steps
from stepward.model.records import Task
from stepward.store.contract import Submitted
from stepward.store.postgres.engine.columns import columns_of
from stepward.store.verbs.connection import VerbConnection, VerbRow
from stepward.store.verbs.tasks import status_events


async def submit(connection: VerbConnection, tasks: Sequence[Task], plans: Plans) -> list[Submitted]:
    """Insert tasks whose ids are new, the first of each id, with their plans; tell for each what became of it."""
    firsts: dict[str, Task] = {}
    for task in tasks:
        firsts.setdefault(task.id, task)
    told = {
        task.uid: (task.reply_to, status_events.received(task)) for task in firsts.values() if task.reply_to is not None
    }
    created = await _insert(connection, sorted(firsts.values(), key=lambda task: task.id))
    known = await _existing(connection, [task.id for task in firsts.values() if task.uid not in created])
    if known:
        # A commit that writes waits for the standbys to have all that came before: these tasks, too.
        await connection.rows("replication.follow")
    new = [task for task in firsts.values() if task.uid in created]
    for task in new:
        if task.uid in told:
            await status_events.put(connection, [told[task.uid]], task.created_at)
    await _record(connection, new, plans)
    return [_answer(task, firsts[task.id], created, known) for task in tasks]


async def _insert(connection: VerbConnection, tasks: Sequence[Task]) -> set[str]:
    if not tasks:
        return set()
    found = await connection.rows("submission.insert", *columns_of([astuple(task) for task in tasks]))
    return {row[0] for row in found}


async def _existing(connection: VerbConnection, ids: list[str]) -> dict[str, VerbRow]:
    found = await connection.rows("submission.existing", ids) if ids else []
    return {row[0]: row for row in found}


async def _record(connection: VerbConnection, tasks: Sequence[Task], plans: Plans) -> None:
    steps = [step for task in tasks for step in planned_steps(task, plans.get((task.workflow, task.version), ()))]
    if steps:
        await connection.change("turn.insert_planned", *columns_of([astuple(step) for step in steps]))


def _answer(task: Task, first: Task, created: set[str], known: Mapping[str, VerbRow]) -> Submitted:
    if first.uid not in created:
        _, uid, workflow, input = known[task.id]
    elif task is first:
        return Submitted(task.uid, task.id, created=True, same=True)
    else:
        uid, workflow, input = first.uid, first.workflow, first.input
    same = workflow == task.workflow and input in (None, task.input)
    return Submitted(uid, task.id, created=False, same=same)
