"""Completions of several callers in one transaction, with a number of statements that does not grow with them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from stepward.model.records import Step, Task
from stepward.model.states import TASK_ENDS
from stepward.store import rows
from stepward.store.contract import Completion, Refusal
from stepward.store.postgres.engine.shared_writes import Apart, Outcome, in_rounds
from stepward.store.rules.steps import completion_refusals, completions
from stepward.store.verbs import alerts_and_audit
from stepward.store.verbs.connection import VerbConnection
from stepward.store.verbs.tasks import inbox
from stepward.store.verbs.tasks.completions import note

RunStepKey = tuple[str, int, str]


class AcceptedCompletion(NamedTuple):
    """A completion that its step, which is locked, allows."""

    task: Task
    completion: Completion


async def complete_all(
    connection: VerbConnection, acts: Sequence[Completion], now: float
) -> list[Outcome[Refusal | None]]:
    """Finishes steps; for each why it was refused, if it was.

    One whose step another transaction has locked is left out: owners lock steps without their task, so that waiting
    for several could be a deadlock.
    """
    outcomes: dict[int, Outcome[Refusal | None]] = {}
    for positions in in_rounds(acts, _place):
        found = await _complete_round(connection, [acts[position] for position in positions], now)
        outcomes.update(zip(positions, found, strict=True))
    return [outcomes[position] for position in range(len(acts))]


async def steps_at(connection: VerbConnection, places: Sequence[RunStepKey]) -> list[Step | None]:
    """The steps at these places, as they are committed."""
    found = await connection.rows_of_each("completions.steps", sorted(set(places)))
    steps = {(step.task, step.run, step.key): step for step in map(rows.step, found)}
    return [steps.get(place) for place in places]


def _place(completion: Completion) -> RunStepKey:
    return completion.task, completion.run, completion.key


async def _complete_round(
    connection: VerbConnection, acts: Sequence[Completion], now: float
) -> list[Outcome[Refusal | None]]:
    """Finishes different steps."""
    tasks = await inbox.lock(connection, [act.task for act in acts])
    found = await connection.rows_of_each("completions.lock_steps", sorted(map(_place, acts)))
    steps = {(step.task, step.run, step.key): step for step in map(rows.step, found)}
    judged = [_judged(act, tasks.get(act.task), steps.get(_place(act)), now) for act in acts]
    recorded = await _record(connection, [each for each in judged if isinstance(each, AcceptedCompletion)], now)
    outcomes: list[Outcome[Refusal | None]] = []
    for act, each in zip(acts, judged, strict=True):
        if isinstance(each, AcceptedCompletion):
            outcomes.append(None if _place(act) in recorded else Apart.APART)
            continue
        if isinstance(each, Refusal):
            await note(connection, act, tasks.get(act.task), each, now)
        outcomes.append(each)
    return outcomes


def _judged(act: Completion, task: Task | None, step: Step | None, now: float) -> AcceptedCompletion | Refusal | Apart:
    if task is None or step is None:
        return Apart.APART
    refused = completions.refusal(act, task, step, now)
    return AcceptedCompletion(task, completions.settled(act, step)) if refused is None else refused


async def _record(connection: VerbConnection, accepted: Sequence[AcceptedCompletion], now: float) -> set[RunStepKey]:
    """Records outcomes, and sends them to the owners; the steps that have theirs."""
    values = [
        (*_place(act), act.attempt, act.output, act.error, now)
        for _, act in sorted(accepted, key=lambda each: _place(each.completion))
    ]
    recorded = {(row[0], row[1], row[2]) for row in await connection.rows_of_each("completions.complete_all", values)}
    kept = [each for each in accepted if _place(each.completion) in recorded]
    posts = [completions.recorded_reply(act, now) for task, act in kept if task.state not in TASK_ENDS]
    await inbox.insert(connection, posts, now)
    written = [completion_refusals.audit(act, task, None) for task, act in kept]
    await alerts_and_audit.write_audits(connection, written, now)
    return recorded
