"""Status events: what a task tells the private response queue that its submission named (R29)."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec

from stepward.model.cloudevents import instant, sequence_text
from stepward.model.records import Task
from stepward.model.states import TaskState

KEPT_SECONDS = 7 * 86_400.0
"""How long an event waits in a queue from which nobody reads."""


class Told(StrEnum):
    """What an event tells; its type."""

    RECEIVED = "stepward.request.received"
    STARTED = "stepward.task.started"
    STEP_COMPLETED = "stepward.step.completed"
    STEP_FAILED = "stepward.step.failed"
    STEP_DELAYED = "stepward.step.delayed"
    """An attempt failed or ran out of time, and the Supervisor has it repeated."""
    WAITING = "stepward.task.waiting"
    SUSPENDED = "stepward.task.suspended"
    RESUMED = "stepward.task.resumed"
    UNDOING = "stepward.task.undoing"
    COMPLETED = "stepward.task.completed"
    FAILED = "stepward.task.failed"
    UNDONE = "stepward.task.undone"
    CANCELLED = "stepward.task.cancelled"


OF_STATE = {
    TaskState.PENDING: Told.RESUMED,
    TaskState.WAITING: Told.WAITING,
    TaskState.SUSPENDED: Told.SUSPENDED,
    TaskState.UNDOING: Told.UNDOING,
    TaskState.PROCESSED: Told.COMPLETED,
    TaskState.ERROR: Told.FAILED,
    TaskState.UNDONE: Told.UNDONE,
    TaskState.CANCELLED: Told.CANCELLED,
}
"""What is told of a task that comes into a state; into ``pending`` an operator brings it back."""

_encoder = msgspec.json.Encoder()


def status_event(task: Task, told: Told, sequence: int, at: float, **data: Any) -> bytes:
    """The event as it stands in the queue; the same task and sequence make the same id for ever."""
    return _encoder.encode(
        {
            "specversion": "1.0",
            "id": f"{task.uid}/{sequence}",
            "source": f"/stepward/{(task.reply_to or '').split('.')[1]}",
            "type": told.value,
            "subject": task.id,
            "time": instant(at),
            "sequence": sequence_text(sequence),
            "datacontenttype": "application/json",
            "data": {"workflow": task.workflow, **data},
        }
    )


def ended_with(output: bytes | None, error: bytes | None) -> dict[str, Any]:
    """What an event on a task's state carries of its result and error."""
    told = {}
    if output is not None:
        told["result"] = msgspec.Raw(output)
    if error is not None:
        told["error"] = msgspec.Raw(error)
    return told
