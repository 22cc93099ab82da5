"""Replies that come too late for a step of a task that no Scheduler holds: the alerts that report their effects.

Late replies of tasks that a Scheduler holds are handled in ``scheduler/tasks/late_effects.py``.
"""

from __future__ import annotations

from stepward.model.messages.requests import Reply
from stepward.model.records import Alert, Task


def late_effect_alert(task: Task, reply: Reply) -> Alert:
    """A success that came after the undo of its step began."""
    return Alert(
        kind="late_effect_after_undo",
        task=task.uid,
        task_id=task.id,
        step=reply.key,
        message=f"{task.id}: {reply.key} took effect after its undo began; look whether the effect stands",
    )


def denied_effect_alert(task: Task, reply: Reply) -> Alert:
    """A success of an attempt that a repair had declared as not executed."""
    return Alert(
        kind="late_effect",
        task=task.uid,
        task_id=task.id,
        step=reply.key,
        message=f"{task.id}: attempt {reply.attempt} of {reply.key} succeeded, though a repair recorded that it did "
        "not happen; check its effect by hand",
    )
