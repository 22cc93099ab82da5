"""What the log and the operators are told of a failed attempt."""

from __future__ import annotations

from stepward.events import Observers
from stepward.model import failures
from stepward.model.messages.requests import Reply
from stepward.model.records import Alert, Step, Task
from stepward.scheduler.tasks import step_rows as rows


def tell_failure(observers: Observers, task: Task, step: Step, reply: Reply) -> None:
    """The event of a failed attempt: ``step.failed``, or ``step.gave_up`` where another attempt may follow."""
    if not observers.listening:
        return
    error = failures.read(reply.error)
    observers.tell(
        f"step.{reply.outcome}",
        task=task.id,
        step=step.key,
        agent=step.agent,
        attempt=step.attempt,
        type=error.get("type"),
        error=error.get("message"),
        at=error.get("at"),
        maybe_done=reply.maybe_done,
        traceback=error.get("traceback"),
    )


def unreadable_alert(task: Task, step: Step, reply: Reply, now: float) -> Alert:
    """The alert about an Agent that sent what cannot be recorded."""
    message = failures.read(reply.error).get("message", "")
    return rows.alert(
        task,
        "unreadable_reply",
        f"{task.id}: {message}; look at Agent {step.agent}",
        now,
        step=step.key,
        agent=step.agent,
        attempt=step.attempt,
    )
