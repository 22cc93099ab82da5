"""The rules of batches: the condition, the pace, and the acts that steer one. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from stepward.errors import IllegalTransition
from stepward.store.contract.values.batches import BATCH_ENDS, Batch, BatchRefusal, BatchState
from stepward.store.contract.values.directives import Directive
from stepward.store.contract.values.search import FoundTasks, TaskSearch
from stepward.store.search.conditions import AllOf, AnyOf, Comparison, Condition, Operator, conjuncts
from stepward.store.search.fields import SearchField
from stepward.store.search.parser import parsed
from stepward.store.search.statements import TaskKey

MOST_ACTS = 50
"""Tasks that one transaction asks at most."""
BURST_SECONDS = 1.0
"""For so long unused rate is kept: a batch that could not run does not catch up."""
MOST_REFUSALS = 20
"""Refusals that are kept as a sample."""
LONGEST_WHY = 500
"""Characters kept of a refusal's reason."""

FROM: Mapping[str, frozenset[BatchState]] = {
    "pause": frozenset({BatchState.RUNNING}),
    "resume": frozenset({BatchState.PAUSED}),
    "stop": frozenset({BatchState.RUNNING, BatchState.PAUSED}),
    "pace": frozenset({BatchState.RUNNING, BatchState.PAUSED}),
}
"""The states in which each way of steering has an effect."""
AFTER = {"pause": BatchState.PAUSED, "resume": BatchState.RUNNING, "stop": BatchState.STOPPED}


def in_scope(workflows: Sequence[str], labels: Mapping[str, str]) -> Condition:
    """The condition that a task is of one of the workflows and has all of the labels; empty: any."""
    names = [Comparison(SearchField.WORKFLOW, Operator.EQUAL, name) for name in workflows]
    values = [Comparison(SearchField.LABEL, Operator.EQUAL, value, name) for name, value in labels.items()]
    return AllOf((*([AnyOf(tuple(names))] if names else ()), *values))


def batch_condition(where: str, as_of: float, workflows: Sequence[str], labels: Mapping[str, str]) -> Condition:
    """The tasks that a batch is about: those of the filter, in scope, and submitted by ``as_of``.

    Raises InvalidFilter.
    """
    submitted = Comparison(SearchField.CREATED, Operator.AT_MOST, as_of)
    return AllOf((*conjuncts(parsed(where, as_of)), *conjuncts(in_scope(workflows, labels)), submitted))


def condition_of_batch(batch: Batch) -> Condition:
    """The tasks that the batch is about."""
    return batch_condition(batch.filter, batch.as_of, batch.workflows, batch.labels)


def next_search(batch: Batch, limit: int) -> TaskSearch:
    """The search for its next tasks, oldest first."""
    after = None
    if batch.cursor_at is not None and batch.cursor_uid is not None:
        after = TaskKey(batch.cursor_at, batch.cursor_uid)
    return TaskSearch(condition=condition_of_batch(batch), newest_first=False, limit=limit, after=after)


def allowed(batch: Batch, now: float) -> int:
    """How many acts the rate allows at this moment, at most 50."""
    if now < batch.next_at:
        return 0
    return min(MOST_ACTS, int((now - _paid_from(batch, now)) * batch.rate) + 1)


def paid(batch: Batch, acts: int, now: float) -> Batch:
    """The batch after so many acts: when the next one may be."""
    return replace(batch, next_at=_paid_from(batch, now) + acts / batch.rate)


def _paid_from(batch: Batch, now: float) -> float:
    return max(batch.next_at, now - BURST_SECONDS)


def gone_through(batch: Batch, found: FoundTasks, now: float) -> Batch:
    """The batch behind the tasks that were found; done where nothing is left."""
    if found.after is None:
        return replace(batch, state=BatchState.DONE, finished_at=now)
    return replace(batch, cursor_at=found.after.created_at, cursor_uid=found.after.uid)


def refused_by(batch: Batch, task: str, why: str) -> Batch:
    """The batch after the task of that id refused."""
    sample = batch.refusals
    if len(sample) < MOST_REFUSALS:
        sample = [*sample, BatchRefusal(task, why[:LONGEST_WHY])]
    return replace(batch, refused=batch.refused + 1, refusals=sample)


def succeeded(batch: Batch) -> Batch:
    """The batch after a task took the act."""
    return replace(batch, done=batch.done + 1)


def directive_of(batch: Batch, now: float) -> Directive:
    """The directive for the batch's next tasks."""
    said = batch.parameters
    deadline = said.deadline if said.complete_seconds is None else now + said.complete_seconds
    return Directive(
        verb=batch.verb,
        actor=batch.actor,
        step=said.step,
        input=None if said.input is None else said.input.encode(),
        result=None if said.result is None else said.result.encode(),
        doubt=said.doubt,
        later=said.later,
        deadline=deadline,
        priority=said.priority,
        batch=batch.id,
        reason=batch.reason,
    )


def steered(batch: Batch, act: str, now: float, rate: float | None = None) -> Batch:
    """The batch after an operator steered it. Raises IllegalTransition."""
    if batch.state not in FROM[act]:
        states = " or ".join(sorted(FROM[act]))
        raise IllegalTransition(f"{act} of batch {batch.id}: expected it {states}, found it {batch.state}")
    after = AFTER.get(act, batch.state)
    finished_at = now if after in BATCH_ENDS else None
    # What was paid for at another rate, or before a pause, does not count: the next act may be at once.
    next_at = min(batch.next_at, now + 1 / (rate or batch.rate))
    return replace(batch, state=after, finished_at=finished_at, rate=rate or batch.rate, next_at=next_at)
