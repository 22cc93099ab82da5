"""Status events, which a task sends to the private response queue that its submission named (R29)."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec
from msgspec import Struct

from stepward.model.failures import public
from stepward.model.messages.cloudevents import LONGEST_ATTRIBUTE, instant, sequence_text
from stepward.model.messages.requests import is_response_queue
from stepward.model.records import Task
from stepward.model.states import TaskState

UNKNOWN = "unknown"
"""The subject of events about a message whose id cannot be read."""
KEPT_SECONDS = 7 * 86_400.0
"""Seconds for which an event stays in a queue that is not read."""


class StatusEventType(StrEnum):
    """The kind of an event; its type."""

    RECEIVED = "stepward.request.received"
    REFUSED = "stepward.request.refused"
    """No task was made of the message, and none will be: it is a dead letter."""
    STARTED = "stepward.task.started"
    STEP_COMPLETED = "stepward.step.completed"
    STEP_FAILED = "stepward.step.failed"
    STEP_DELAYED = "stepward.step.delayed"
    """An attempt failed or ran out of time, and the Supervisor decided to repeat it."""
    WAITING = "stepward.task.waiting"
    SUSPENDED = "stepward.task.suspended"
    RESUMED = "stepward.task.resumed"
    UNDOING = "stepward.task.undoing"
    COMPLETED = "stepward.task.completed"
    FAILED = "stepward.task.failed"
    UNDONE = "stepward.task.undone"
    CANCELLED = "stepward.task.cancelled"


OF_STATE = {
    TaskState.PENDING: StatusEventType.RESUMED,
    TaskState.WAITING: StatusEventType.WAITING,
    TaskState.SUSPENDED: StatusEventType.SUSPENDED,
    TaskState.UNDOING: StatusEventType.UNDOING,
    TaskState.PROCESSED: StatusEventType.COMPLETED,
    TaskState.ERROR: StatusEventType.FAILED,
    TaskState.UNDONE: StatusEventType.UNDONE,
    TaskState.CANCELLED: StatusEventType.CANCELLED,
}
"""The event for each state that a task enters; into ``pending`` an operator moves it back."""

_encoder = msgspec.json.Encoder()


def status_event(task: Task, kind: StatusEventType, sequence: int, at: float, **data: Any) -> bytes:
    """The event as stored in the queue; the same task and sequence give the same id for ever."""
    return _encoder.encode(
        {
            "specversion": "1.0",
            "id": f"{task.uid}/{sequence}",
            "source": f"/stepward/{(task.reply_to or task.events_to or '').split('.')[1]}",
            "type": kind.value,
            "subject": task.id,
            "time": instant(at),
            "sequence": sequence_text(sequence),
            "datacontenttype": "application/json",
            "data": {"workflow": task.workflow, **data},
        }
    )


class _Request(Struct):
    """The parts of a refused message that identify the response queue; the rest may be anything."""

    id: Any = None
    replyto: Any = None


def refused_event(body: bytes, app: str, reason: str, at: float) -> tuple[str, bytes] | None:
    """The response queue of a refused message, and its event; None if no response queue of the app's can be read.

    The event's id contains the message's: refused again for any reason, the same event comes again.
    """
    try:
        request = msgspec.json.decode(body, type=_Request)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    queue, id = request.replyto, request.id
    if not isinstance(queue, str) or not is_response_queue(queue, app):
        return None
    subject = id[:LONGEST_ATTRIBUTE] if isinstance(id, str) and id else UNKNOWN
    event = {
        "specversion": "1.0",
        "id": f"refused:{subject}/1",
        "source": f"/stepward/{app}",
        "type": StatusEventType.REFUSED.value,
        "subject": subject,
        "time": instant(at),
        "sequence": sequence_text(1),
        "datacontenttype": "application/json",
        "data": {"reason": reason},
    }
    return queue, _encoder.encode(event)


def ended_with(output: bytes | None, error: bytes | None) -> dict[str, Any]:
    """The result and error in an event about a task's state."""
    data = {}
    if output is not None:
        data["result"] = msgspec.Raw(output)
    if error is not None:
        data["error"] = msgspec.Raw(public(error))
    return data
