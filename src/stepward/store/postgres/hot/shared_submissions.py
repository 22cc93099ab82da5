"""Submissions of several callers in one commit; ids that are known already are looked up after it."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from operator import attrgetter
from typing import NamedTuple

from msgspec.structs import astuple

from stepward.errors import StepwardError
from stepward.model.pipeline_plan import NO_PLANS, Plans
from stepward.model.records import Task
from stepward.store.contract import Submitted
from stepward.store.postgres.engine.connection import Connection
from stepward.store.postgres.engine.database import Database
from stepward.store.postgres.engine.shard_gate import ShardGate
from stepward.store.postgres.engine.shared_writes import ActSize
from stepward.store.verbs.tasks import new_tasks


class NewTask(NamedTuple):
    """One submission."""

    task: Task
    plans: Plans

    @property
    def size(self) -> ActSize:
        """The task and the planned steps of its workflow."""
        stages = self.plans.get((self.task.workflow, self.task.version), ())
        return ActSize(1 + len(stages), len(self.task.input))


async def submit_all(database: Database, new: Sequence[NewTask]) -> Sequence[Submitted | Exception]:
    """Submits the tasks; for each its result, or the error of the look at its known id.

    A task of a shard that was seen to have left the store takes no other along.
    """
    elsewhere = [database.gate.elsewhere(each.task.id) for each in new]
    here = [each for each, refusal in zip(new, elsewhere, strict=True) if refusal is None]
    found = iter(await _submit_here(database, here) if here else ())
    return [next(found) if refusal is None else refusal for refusal in elsewhere]


async def _submit_here(database: Database, new: Sequence[NewTask]) -> Sequence[Submitted | Exception]:
    plans = {key: plan for each in new for key, plan in each.plans.items()}
    tasks = [each.task for each in new]
    if plans or any(task.reply_to is not None or task.events_to is not None for task in tasks):
        return await database.others.write(new_tasks.submit, tasks, plans)
    return await _submit_plain(database, tasks)


async def _submit_plain(database: Database, tasks: Sequence[Task]) -> list[Submitted | Exception]:
    """Tasks that are a row each, in one statement, which commits by itself; known ids are looked up after it.

    An error of the look is the outcome of known ids alone: the other tasks are durable.
    """
    firsts = {task.id: task for task in reversed(tasks)}
    created = await database.others.single(_create, database.gate, list(firsts.values()))
    are_new = [task.uid in created and firsts[task.id] is task for task in tasks]
    rest = [task for task, is_new in zip(tasks, are_new, strict=True) if not is_new]
    found = iter(await _look_up(database, rest) if rest else ())
    return [
        Submitted(task.uid, task.id, created=True, same=True) if is_new else next(found)
        for task, is_new in zip(tasks, are_new, strict=True)
    ]


async def _create(connection: Connection, gate: ShardGate, tasks: Sequence[Task]) -> set[str]:
    """Inserts tasks of different ids, and nothing else; returns the uids of those whose ids are new."""
    ordered = sorted(tasks, key=attrgetter("id"))
    ids, many = [task.id for task in ordered], list(map(astuple, ordered))
    return {row[0] for row in await gate.insert(connection, "submission.insert", ids, many)}


async def _look_up(database: Database, tasks: Sequence[Task]) -> Sequence[Submitted | Exception]:
    """For each of the tasks, whose ids are known, the result or the error of the look, a copy each."""
    try:
        return await database.others.write(new_tasks.submit, tasks, NO_PLANS)
    except StepwardError as error:
        return [copy(error) for _ in tasks]
