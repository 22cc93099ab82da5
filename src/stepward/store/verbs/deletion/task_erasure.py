"""Deletion of ended tasks on demand, with alerts, dead letters, status events and the details of acts on them."""

from __future__ import annotations

import msgspec

from stepward.model.records import Task
from stepward.model.states import TaskState
from stepward.store import rows
from stepward.store.contract import AuditedAct, Batch
from stepward.store.rules import erasure
from stepward.store.rules.audit.audit_chain import EMPTY, MARK
from stepward.store.verbs import alerts_and_audit
from stepward.store.verbs.connection import VerbConnection
from stepward.store.verbs.deletion.retention import delete_rows

MOST_ACTS = 10_000
"""Acts on one task and its descendants whose details are erased."""
SLICE = 1_000
"""Most messages of a queue that are read at once."""


async def erase(connection: VerbConnection, task: Task, batch: Batch, now: float) -> None:
    """Deletes a locked task with its descendants, and records it. Raises IllegalTransition."""
    descendants = await _descendants(connection, task)
    ((parent_is_over,),) = await connection.rows("erasure.parent_is_over", task.uid)
    erasure.check_erasable(task, descendants, parent_is_over=bool(parent_is_over))
    tasks: list[Task | erasure.Descendant] = [task, *descendants]
    uids = [each.uid for each in tasks]
    await delete_rows(connection, uids)
    await connection.change("erasure.delete_receipts", uids)
    await connection.change("erasure.delete_alerts", uids)
    quoted = [(each.uid.encode(), msgspec.json.encode(each.id)) for each in tasks]
    await connection.change_each("erasure.delete_letters", quoted)
    for queue, uid in erasure.event_queues(task, descendants):
        await _delete_events(connection, queue, uid)
    note = msgspec.json.encode((batch.actor, batch.id)).decode()
    await connection.change_each("erasure.note_erased", [(uid, note) for uid in uids])
    acts = await _erase_acts(connection, uids)
    audits = erasure.erasure_audits(task, len(descendants), acts, batch)
    await alerts_and_audit.write_audits(connection, audits, now)


async def _delete_events(connection: VerbConnection, queue: str, uid: bytes) -> None:
    """Deletes the events that a queue still holds of a task and its descendants, a slice of the queue at a time.

    The slices are of one snapshot: a message that is taken or given back meanwhile moves in the index of queues.
    """
    async for found in connection.pages("erasure.events", SLICE, queue, uid):
        events = [(token,) for token, is_of in found if is_of]
        await connection.change_each("erasure.delete_events", events, queue)


async def _descendants(connection: VerbConnection, task: Task) -> list[erasure.Descendant]:
    """A child's id is its parent's with a suffix behind a slash, which no id of a caller has."""
    bounds = (f"{task.id}/", f"{task.id}0", erasure.MOST_DESCENDANTS + 1)
    found = await connection.rows("erasure.descendants", *bounds)
    return [erasure.Descendant(uid, id_, TaskState(state), *queues) for uid, id_, state, *queues in found]


async def _erase_acts(connection: VerbConnection, uids: list[str]) -> list[AuditedAct]:
    found = await connection.rows("erasure.acts", uids, EMPTY, MARK, MOST_ACTS)
    acts = [rows.act(row) for row in found]
    await connection.change("erasure.mark_acts", [act.audit.number for act in acts], MARK)
    return acts
