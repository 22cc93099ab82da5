"""Rows that a task's inbox may hold, and what a parent receives when its directive moves nothing."""

from __future__ import annotations

import msgspec

from stepward.errors import InboxFull
from stepward.model.effects import place_name
from stepward.model.records import InboxKind, Step, Task
from stepward.model.states import TASK_ENDS, TaskState
from stepward.model.tasks.updates import described
from stepward.payload import is_json
from stepward.store.contract import (
    Post,
)

UNCOUNTED = 64
"""Rows that a task gets in its life before what waits in its inbox is counted for each signal."""
MOST_SIGNALS = 10_000
SIGNAL_BYTES = 64 * 1024 * 1024
"""Of the signals that a task has not taken yet, all together."""
NOTHING = (b"null", b"{}")
DIRECTIVES = frozenset({InboxKind.UNDO, InboxKind.CANCEL, InboxKind.SUSPEND})
FINAL = TASK_ENDS - {TaskState.ERROR, TaskState.PROCESSED}
"""Ends that no operator reopens."""


def check_signals(task: Task, waiting: int, size: int, name: str) -> None:
    """Raise InboxFull for one signal more than may wait; both numbers count it as well, ``size`` in bytes."""
    if waiting > MOST_SIGNALS or size > SIGNAL_BYTES:
        raise InboxFull(
            f"{described(name)} to task {task.id}: expected at most {MOST_SIGNALS:,} signals and updates and "
            f"{SIGNAL_BYTES:,} bytes of them that the task has not taken yet, found {waiting:,} and {size:,} with this "
            "one; send it again when the task has taken some"
        )


def mended_child_post(child: Task, step: Step) -> Post:
    """The row that a parent receives for a child that was repaired meanwhile."""
    body = {"state": child.state, "output": _raw(child.output), "error": None}
    return Post(task=step.task, kind=InboxKind.CHILD, name=place_name(step), body=msgspec.json.encode(body))


def repeated_end_post(child: Task, parent: Task | None, post: Post) -> Post | None:
    """A child that its parent's directive no longer moves tells its end again: the parent may wait for just that."""
    if parent is None or parent.id != post.sender or parent.state in TASK_ENDS:
        return None
    ended = {"state": child.state, "output": _raw(child.output), "error": _raw(child.error)}
    name = f"{child.parent_run}/{child.parent_step}"
    body = msgspec.json.encode(ended)
    return Post(task=parent.uid, kind=InboxKind.CHILD, name=name, body=body, sender=child.id)


def parent_of(uid: str) -> tuple[str, str]:
    """The uid of the parent in a child's uid, PARENT/RUN/NAME/COUNT, and the place of its step there."""
    parent, *place = uid.rsplit("/", 3)
    return parent, "/".join(place)


def missing_child_post(parent: Task | None, post: Post) -> Post | None:
    """A parent does not wait for a child whose record is no longer kept."""
    if parent is None or parent.id != post.sender or parent.state in TASK_ENDS:
        return None
    body = msgspec.json.encode({"state": "gone", "output": None, "error": None})
    return Post(task=parent.uid, kind=InboxKind.CHILD, name=parent_of(post.task)[1], body=body, sender=post.task)


def _raw(data: bytes | None) -> msgspec.Raw:
    return msgspec.Raw(data if data and is_json(data) else b"null")
