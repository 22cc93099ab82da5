"""Signals of several callers in one transaction, with a number of statements that does not grow with them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from msgspec.structs import replace

from stepward.model.records import Task
from stepward.model.states import TASK_ENDS
from stepward.store import rows
from stepward.store.rules import inbox_rules, refusals
from stepward.store.rules.audit import audited_acts
from stepward.store.verbs import alerts_and_audit
from stepward.store.verbs.actors.client import SignalAct
from stepward.store.verbs.connection import VerbConnection
from stepward.store.verbs.tasks import inbox

SeenSignal = tuple[str, str, str]
"""Uid of the task, name and id of a signal."""


async def signal_all(connection: VerbConnection, acts: Sequence[SignalAct], now: float) -> list[bool]:
    """Delivers signals that expect no version, in order; for each whether it is new. Raises what one of them would."""
    tasks = await _locked(connection, {act.post.task for act in acts})
    new = await _unseen(connection, acts, tasks)
    delivered = [act for act, is_new in zip(acts, new, strict=True) if is_new]
    for act in delivered:
        if tasks[act.post.task].state in TASK_ENDS:
            raise refusals.signal_too_late(tasks[act.post.task], act.post.name)
    await _check_room(connection, delivered, tasks)
    await inbox.insert(connection, [replace(act.post, task=tasks[act.post.task].uid) for act in delivered], now)
    kept = [
        audited_acts.signal_audit(tasks[act.post.task], act.post, act.actor, act.reason)
        for act in delivered
        if act.actor is not None
    ]
    if kept:
        await alerts_and_audit.write_audits(connection, kept, now)
    return new


async def _locked(connection: VerbConnection, ids: set[str]) -> dict[str, Task]:
    found = [rows.task(row) for row in await connection.rows("client.lock_tasks", sorted(ids))]
    tasks = {task.id: task for task in found}
    for id in ids - tasks.keys():
        raise refusals.not_found(id)
    return tasks


async def _unseen(connection: VerbConnection, acts: Sequence[SignalAct], tasks: dict[str, Task]) -> list[bool]:
    """For each signal whether it has no id, or is the first with it."""
    named: dict[SeenSignal, int] = {}
    for place, act in enumerate(acts):
        if act.signal_id is not None:
            named.setdefault((tasks[act.post.task].uid, act.post.name, act.signal_id), place)
    runs = {task.uid: task.run for task in tasks.values()}
    found = await connection.rows_of_each("client.see_signals", [(*key, runs[key[0]]) for key in sorted(named)])
    first = {named[row[0], row[1], row[2]] for row in found}
    return [act.signal_id is None or place in first for place, act in enumerate(acts)]


async def _check_room(connection: VerbConnection, acts: Sequence[SignalAct], tasks: dict[str, Task]) -> None:
    """Raises InboxFull if a task would have more signals than may wait."""
    counts, sizes = Counter[str](), Counter[str]()
    for act in acts:
        counts[act.post.task] += 1
        sizes[act.post.task] += len(act.post.body)
    many = {tasks[id].uid: id for id in counts if tasks[id].inbox + counts[id] > inbox_rules.UNCOUNTED}
    found = await connection.rows("client.waiting_signals_of", sorted(many)) if many else []
    for uid, waiting, size in found:
        id = many[uid]
        name = next(act.post.name for act in acts if act.post.task == id)
        inbox_rules.check_signals(tasks[id], waiting + counts[id], size + sizes[id], name)
