"""Effects that come too late for a task in memory: alerts of successes whose step was undone or denied meanwhile.

Those of tasks that no Scheduler holds are in ``store/verbs/replies/late_replies.py``.
"""

from __future__ import annotations

from stepward.model.messages.requests import Reply
from stepward.model.records import Step
from stepward.scheduler.tasks import step_rows as rows
from stepward.scheduler.tasks.active_task import ActiveTask


def late_effect(active: ActiveTask, step: Step, now: float) -> None:
    """Alert of an attempt that succeeded after the undo of its step had begun."""
    message = f"{active.task.id}: {step.key} succeeded after its undo had begun; check its effect by hand"
    active.changed().alert(rows.alert(active.task, "late_effect_after_undo", message, now, step=step.key))


def denied_effect(active: ActiveTask, reply: Reply, now: float) -> None:
    """Alert of an attempt that succeeded although a repair recorded that it did not happen."""
    message = (
        f"{active.task.id}: attempt {reply.attempt} of {reply.key} succeeded, though a repair recorded that it "
        "did not happen; check its effect by hand"
    )
    active.changed().alert(rows.alert(active.task, "late_effect", message, now, step=reply.key))
