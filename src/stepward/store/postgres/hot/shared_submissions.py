"""Submissions of several callers in one commit; ids that are known already are looked up after it."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import NamedTuple

from stepward.errors import StepwardError
from stepward.model.pipeline_plan import NO_PLANS, Plans
from stepward.model.records import Task
from stepward.store.contract import Submitted
from stepward.store.postgres.engine.shared_writes import ActSize
from stepward.store.verbs.connection import VerbTransactions
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


async def submit_all(transactions: VerbTransactions, new: Sequence[NewTask]) -> Sequence[Submitted | Exception]:
    """Submits the tasks; for each its result, or the error of the look at its known id."""
    plans = {key: plan for each in new for key, plan in each.plans.items()}
    tasks = [each.task for each in new]
    if plans or any(task.reply_to is not None or task.events_to is not None for task in tasks):
        return await transactions.write(new_tasks.submit, tasks, plans)
    return await _submit_plain(transactions, tasks)


async def _submit_plain(transactions: VerbTransactions, tasks: Sequence[Task]) -> list[Submitted | Exception]:
    """Tasks that are a row each, in one statement, which commits by itself; known ids are looked up after it.

    An error of the look is the outcome of known ids alone: the other tasks are durable.
    """
    firsts = {task.id: task for task in reversed(tasks)}
    created = await transactions.single(new_tasks.create, list(firsts.values()))
    are_new = [task.uid in created and firsts[task.id] is task for task in tasks]
    rest = [task for task, is_new in zip(tasks, are_new, strict=True) if not is_new]
    found = iter(await _look_up(transactions, rest) if rest else ())
    return [
        Submitted(task.uid, task.id, created=True, same=True) if is_new else next(found)
        for task, is_new in zip(tasks, are_new, strict=True)
    ]


async def _look_up(transactions: VerbTransactions, tasks: Sequence[Task]) -> Sequence[Submitted | Exception]:
    """For each of the tasks, whose ids are known, the result or the error of the look, a copy each."""
    try:
        return await transactions.write(new_tasks.submit, tasks, NO_PLANS)
    except StepwardError as error:
        return [copy(error) for _ in tasks]
