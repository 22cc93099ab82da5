"""Conditions for deleting tasks on demand, and the acts that record it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from stepward.errors import IllegalTransition
from stepward.model.messages.event_queues import queues_of
from stepward.model.records import Audit, Task
from stepward.model.states import TASK_ENDS, TaskState
from stepward.store.contract.by_subject.archive_erasure import ErasedTask
from stepward.store.contract.by_subject.retention import AuditedAct
from stepward.store.contract.values.batches import Batch
from stepward.store.rules.audit.audit_chain import DELETED, Erased, ErasedAct, erased_act

MOST_DESCENDANTS = 1_000
"""Descendants that are deleted together with a task; one with more is refused."""
ACTS_OF_ENTRY = 200
"""Erased acts that one act of the audit names."""


class Descendant(NamedTuple):
    """A child task, or a child of one."""

    uid: str
    id: str
    state: TaskState
    reply_to: str | None
    events_to: str | None


def check_ended(task: Task | Descendant) -> None:
    """Raises IllegalTransition for a task that has not ended."""
    if task.state not in TASK_ENDS:
        raise IllegalTransition(
            f"delete of task {task.id}: expected a task that has ended, found it {task.state}; cancel or undo it first"
        )


def check_erasable(task: Task, descendants: Sequence[Descendant], *, parent_is_over: bool) -> None:
    """Raises IllegalTransition for a task that another one may still need."""
    check_ended(task)
    if not parent_is_over:
        raise IllegalTransition(
            f"delete of task {task.id}: expected a parent that needs it no more, found one that may undo it; "
            "delete the parent"
        )
    if len(descendants) > MOST_DESCENDANTS:
        raise IllegalTransition(
            f"delete of task {task.id}: expected at most {MOST_DESCENDANTS:,} descendants, found more; "
            "leave it to retention"
        )
    for child in descendants:
        check_ended(child)


def event_queues(task: Task, descendants: Sequence[Descendant]) -> list[tuple[str, bytes]]:
    """The queues that may hold events of these tasks, each once, with the text that all those events have.

    The uid of a child begins with its parent's: one look at the rows of a queue finds the events of all of them.
    """
    family: list[Task | Descendant] = [task, *descendants]
    queues = dict.fromkeys(queue for each in family for queue in queues_of(each.reply_to, each.events_to))
    return [(queue, task.uid.encode()) for queue in queues]


def erasure_audits(task: Task, descendants: int, acts: Sequence[AuditedAct], batch: Batch) -> list[Audit]:
    """The acts that record a deletion, with the hashes of all acts whose details it erased."""
    named = [erased_act(act) for act in acts]
    pieces = [named[place : place + ACTS_OF_ENTRY] for place in range(0, len(named), ACTS_OF_ENTRY)] or [[]]
    return [_audit(task, descendants, piece, batch) for piece in pieces]


def archived_audits(task: ErasedTask, acts: Sequence[AuditedAct]) -> list[Audit]:
    """The acts that record the erasure of archived details, with the hashes of all acts whose details are erased."""
    named = [erased_act(act) for act in acts]
    found = []
    for place in range(0, len(named), ACTS_OF_ENTRY):
        erased = " ".join(f"{act.number}:{act.hash}:{act.left}" for act in named[place : place + ACTS_OF_ENTRY])
        details = msgspec.json.encode(Erased(batch=task.batch, erased=erased))
        found.append(Audit(actor=task.actor, act=DELETED, task=task.uid, details=details))
    return found


def _audit(task: Task, descendants: int, acts: list[ErasedAct], batch: Batch) -> Audit:
    erased = " ".join(f"{act.number}:{act.hash}:{act.left}" for act in acts)
    details = msgspec.json.encode(Erased(batch=batch.id, descendants=descendants, erased=erased))
    return Audit(actor=batch.actor, act="delete", task=task.uid, before=task.state, details=details)
