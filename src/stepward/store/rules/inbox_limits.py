"""What every store says of a task's inbox alike: how much may wait in it, and when it has overtaken a change."""

from __future__ import annotations

from stepward.errors import InboxFull
from stepward.model.records import Task
from stepward.store.contract import OVERTAKEN, Change

NOT_AS_READ = "the task is not as read"
UNCOUNTED = 64
"""Rows that a task gets in its life before what waits in its inbox is counted for each signal."""
MOST_SIGNALS = 10_000
SIGNAL_BYTES = 64 * 1024 * 1024
"""Of the signals that a task has not taken yet, all together."""


class Missed(Exception):
    """A change does not apply; the message says why."""


def why_missed(change: Change, task: Task | None, instance: str, reason: str) -> str:
    """The reason why a change missed whose move did not fit: a task as read but for its inbox was overtaken."""
    move = change.move
    if not reason.startswith(NOT_AS_READ) or move is None or task is None:
        return reason
    is_held = task.locked_by == instance and task.state is move.before
    return OVERTAKEN if is_held and move.inbox is not None and task.inbox != move.inbox else reason


def check_signals(task: Task, waiting: int, size: int, name: str) -> None:
    """Raise InboxFull for one signal more than may wait; both numbers count it as well, ``size`` in bytes."""
    if waiting > MOST_SIGNALS or size > SIGNAL_BYTES:
        raise InboxFull(
            f"signal {name} to task {task.id}: expected at most {MOST_SIGNALS:,} signals and {SIGNAL_BYTES:,} bytes "
            f"of them that the task has not taken yet, found {waiting:,} and {size:,} with this one; "
            "send it again when the task has taken some"
        )
