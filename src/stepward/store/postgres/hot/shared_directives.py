"""Directives of several callers in one transaction, with a number of statements that does not grow with them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from stepward.errors import StepwardError
from stepward.model.messages.event_queues import queues_for
from stepward.model.messages.status_events import OF_STATE, status_event
from stepward.model.records import InboxKind, Task
from stepward.model.states import TaskState
from stepward.model.tasks.directives import DirectiveVerdict, judge
from stepward.model.tasks.stopped_tasks import place_of
from stepward.store import rows
from stepward.store.contract import Directive, Post, Tally
from stepward.store.postgres.engine.shared_writes import Apart, Outcome, in_rounds
from stepward.store.rules import refusals
from stepward.store.rules.audit import audited_acts
from stepward.store.verbs import alerts_and_audit
from stepward.store.verbs.actors.client import DirectiveAct
from stepward.store.verbs.connection import VerbConnection
from stepward.store.verbs.tasks import directives, inbox, status_events


class JudgedDirective(NamedTuple):
    """A directive that its task's state allows."""

    task: Task
    directive: Directive
    verdict: DirectiveVerdict


def can_share(directive: Directive) -> bool:
    """Whether a directive may share a transaction with others: it reads no steps, nor the tasks of children."""
    return directive.verb not in directives.REPAIRS


async def direct_all(connection: VerbConnection, acts: Sequence[DirectiveAct], now: float) -> list[Outcome[TaskState]]:
    """Carries out directives, of one task in order; for each the state after it, or the error that refuses it.

    A directive for a task in error edits steps, and is left out.
    """
    outcomes: dict[int, Outcome[TaskState]] = {}
    for positions in in_rounds(acts, lambda act: act.id):
        found = await _direct_round(connection, [acts[position] for position in positions], now)
        outcomes.update(zip(positions, found, strict=True))
    return [outcomes[position] for position in range(len(acts))]


async def _direct_round(
    connection: VerbConnection, acts: Sequence[DirectiveAct], now: float
) -> list[Outcome[TaskState]]:
    """Carries out directives of different tasks."""
    found = await connection.rows("client.lock_tasks", sorted(act.id for act in acts))
    tasks = {task.id: task for task in map(rows.task, found)}
    tallies = await tallies_of(
        connection, [tasks[act.id].uid for act in acts if act.directive.expected and act.id in tasks]
    )
    judged = [_judged(act, tasks.get(act.id), tallies) for act in acts]
    allowed = [each for each in judged if isinstance(each, JudgedDirective)]
    posts = [_post(each) for each in allowed if each.verdict.by_owner]
    await inbox.insert(connection, posts, now)
    moved = [each for each in allowed if not each.verdict.by_owner and each.verdict.after is not each.task.state]
    await _move(connection, sorted(moved, key=lambda each: each.task.uid), now)
    acts_of = [
        audited_acts.directive_audit(each.task, each.directive, None, each.verdict.after, {}) for each in allowed
    ]
    await alerts_and_audit.write_audits(connection, acts_of, now)
    return [each.verdict.after if isinstance(each, JudgedDirective) else each for each in judged]


async def tallies_of(connection: VerbConnection, uids: Sequence[str]) -> dict[str, Tally]:
    """By uid, the counts of steps that the versions of tasks cover."""
    found = await connection.rows("client.tallies", uids, []) if uids else []
    return {tally.task: tally for tally in map(rows.tally, found)}


def _judged(act: DirectiveAct, task: Task | None, tallies: dict[str, Tally]) -> JudgedDirective | StepwardError | Apart:
    if task is None:
        return refusals.not_found(act.id)
    if task.state is TaskState.ERROR:
        return Apart.APART
    try:
        if act.directive.expected:
            refusals.check_version(task, tallies[task.uid], act.directive.expected)
        return JudgedDirective(task, act.directive, judge(act.directive.verb, task))
    except StepwardError as error:
        return error


def _post(each: JudgedDirective) -> Post:
    return Post(task=each.task.uid, kind=InboxKind(each.directive.verb), sender=each.directive.actor)


async def _move(connection: VerbConnection, moved: Sequence[JudgedDirective], now: float) -> None:
    """Moves tasks without an owner as judged, and reports it."""
    if not moved:
        return
    values = [(task.uid, verdict.after, verdict.undo_to) for task, _, verdict in moved]
    await connection.change_each("inbox.move_free_all", values, now)
    await _report(connection, moved, now)
    places = {place_of(task) for task, _, verdict in moved if verdict.after is not TaskState.PENDING}
    await alerts_and_audit.resolve(connection, sorted(place for place in places if place is not None), now)
    cancelled = [task.uid for task, _, verdict in moved if verdict.after is TaskState.CANCELLED]
    if cancelled:
        await connection.change("inbox.skip_all", cancelled, now)


async def _report(connection: VerbConnection, moved: Sequence[JudgedDirective], now: float) -> None:
    told = {
        task.uid: (task, OF_STATE[verdict.after], queues)
        for task, _, verdict in moved
        if (queues := queues_for(task.reply_to, task.events_to, OF_STATE[verdict.after]))
    }
    if not told:
        return
    events = []
    for uid, number in await connection.rows("status_events.next_of", list(told)):
        task, kind, queues = told[uid]
        task.events = number
        event = status_event(task, kind, number, now)
        events += [(queue, event) for queue in queues]
    await status_events.put(connection, events, now)
