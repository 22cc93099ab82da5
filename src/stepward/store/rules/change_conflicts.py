"""Reasons for which a change of a turn does not apply."""

from __future__ import annotations

from stepward.model.records import Task
from stepward.store.contract import (
    OVERTAKEN,
    Change,
)

NOT_AS_READ = "the task is not as read"
REPORTED_BY_OTHERS = "events: another process has reported on the task since it was read"


class Missed(Exception):
    """A change does not apply; the message says why."""


def why_missed(change: Change, task: Task | None, instance: str, reason: str) -> str:
    """The reason why a change missed whose move did not fit: a task as read but for its inbox was overtaken."""
    move = change.move
    if not reason.startswith(NOT_AS_READ) or move is None or task is None:
        return reason
    is_held = task.locked_by == instance and task.state is move.before
    return OVERTAKEN if is_held and move.inbox is not None and task.inbox != move.inbox else reason
