"""Signals of several callers in one transaction, with a number of statements that does not grow with them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from stepward.errors import StepwardError
from stepward.model.records import Task
from stepward.model.states import TASK_ENDS
from stepward.store import rows
from stepward.store.contract import Tally
from stepward.store.postgres.engine.shared_writes import Outcome
from stepward.store.postgres.hot.shared_directives import tallies_of
from stepward.store.rules import inbox_rules, refusals
from stepward.store.rules.audit import audited_acts
from stepward.store.verbs import alerts_and_audit
from stepward.store.verbs.actors.client import SignalAct
from stepward.store.verbs.connection import VerbConnection
from stepward.store.verbs.tasks import inbox

SeenSignal = tuple[str, str, str]
"""Uid of the task, name and id of a signal."""
WaitingSignals = tuple[int, int]
"""How many signals a task has not taken yet, and their bytes."""


class JudgedBy(NamedTuple):
    """What signals are judged by; those before one in its group count as well."""

    tasks: Mapping[str, Task]
    """By id."""
    tallies: Mapping[str, Tally]
    seen: set[SeenSignal]
    """Ids of signals, but for those that the store records of tasks with room that have not ended."""
    waiting: dict[str, WaitingSignals]
    """By uid, of tasks that may have no room."""


async def signal_all(connection: VerbConnection, acts: Sequence[SignalAct], now: float) -> list[Outcome[bool]]:
    """Delivers signals, of one task in order; for each whether it is new, or the error that refuses it."""
    found = await connection.rows("client.lock_tasks", sorted({act.post.task for act in acts}))
    tasks = {task.id: task for task in map(rows.task, found)}
    by = await _judged_by(connection, acts, tasks)
    judged = [_judged(act, tasks.get(act.post.task), by) for act in acts]
    accepted = [place for place, each in enumerate(judged) if each is True]
    known = await _record_ids(connection, {place: acts[place] for place in accepted}, tasks)
    delivered = [acts[place] for place in accepted if place not in known]
    await inbox.insert(connection, [replace(act.post, task=tasks[act.post.task].uid) for act in delivered], now)
    kept = [
        audited_acts.signal_audit(tasks[act.post.task], act.post, act.actor, act.reason)
        for act in delivered
        if act.actor is not None
    ]
    await alerts_and_audit.write_audits(connection, kept, now)
    return [False if place in known else each for place, each in enumerate(judged)]


async def _judged_by(connection: VerbConnection, acts: Sequence[SignalAct], tasks: Mapping[str, Task]) -> JudgedBy:
    counts = Counter(act.post.task for act in acts if act.post.task in tasks)
    full = {tasks[id].uid for id in counts if tasks[id].inbox + counts[id] > inbox_rules.UNCOUNTED}
    # A refused signal leaves no id, so that of a task which may refuse it is looked up before, and not recorded.
    doubted = full | {task.uid for task in tasks.values() if task.state in TASK_ENDS}
    named = {key for act in acts if (key := _seen_as(act, tasks)) is not None and key[0] in doubted}
    return JudgedBy(
        tasks,
        await tallies_of(connection, sorted({tasks[act.post.task].uid for act in _versioned(acts, tasks)})),
        {tuple(row) for row in await connection.rows_of_each("client.seen_signals", sorted(named))} if named else set(),
        await _waiting(connection, full),
    )


def _versioned(acts: Sequence[SignalAct], tasks: Mapping[str, Task]) -> Iterable[SignalAct]:
    return (act for act in acts if act.expected and act.post.task in tasks)


def _seen_as(act: SignalAct, tasks: Mapping[str, Task]) -> SeenSignal | None:
    task = tasks.get(act.post.task)
    return None if task is None or act.signal_id is None else (task.uid, act.post.name, act.signal_id)


async def _waiting(connection: VerbConnection, uids: set[str]) -> dict[str, WaitingSignals]:
    found = await connection.rows("client.waiting_signals_of", sorted(uids)) if uids else []
    return dict.fromkeys(uids, (0, 0)) | {uid: (count, size) for uid, count, size in found}


def _judged(act: SignalAct, task: Task | None, by: JudgedBy) -> bool | StepwardError:
    """Whether the signal is to be delivered, unless its id is recorded; the error that refuses it."""
    if task is None:
        return refusals.not_found(act.post.task)
    key = _seen_as(act, by.tasks)
    try:
        if act.expected:
            refusals.check_version(task, by.tallies[task.uid], act.expected)
        if key in by.seen:
            return False
        if task.state in TASK_ENDS:
            return refusals.signal_too_late(task, act.post.name)
        _take_room(act, task, by.waiting)
    except StepwardError as error:
        return error
    if key is not None:
        by.seen.add(key)
    return True


def _take_room(act: SignalAct, task: Task, waiting: dict[str, WaitingSignals]) -> None:
    """Raises InboxFull if a task would have more signals than may wait."""
    if task.uid in waiting:
        count, size = waiting[task.uid]
        more = (count + 1, size + len(act.post.body))
        inbox_rules.check_signals(task, *more, act.post.name)
        waiting[task.uid] = more


async def _record_ids(
    connection: VerbConnection, accepted: Mapping[int, SignalAct], tasks: Mapping[str, Task]
) -> set[int]:
    """Records the ids of signals; returns the places of those that were recorded before."""
    named = {key: place for place, act in accepted.items() if (key := _seen_as(act, tasks)) is not None}
    if not named:
        return set()
    runs = {task.uid: task.run for task in tasks.values()}
    found = await connection.rows_of_each("client.see_signals", [(*key, runs[key[0]]) for key in sorted(named)])
    return {*named.values()} - {named[row[0], row[1], row[2]] for row in found}
