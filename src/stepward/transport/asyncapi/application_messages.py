"""Messages that applications post and receive: these structs only describe them, as events are written from plain
values."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from stepward.model.messages.cloudevents import LONGEST_ATTRIBUTE
from stepward.model.messages.status_events import StatusEventType
from stepward.transport.asyncapi.schemas import Schema, refer, schemas
from stepward.transport.wire.wire_events import Instant

NonEmptyText = Annotated[str, Meta(min_length=1)]
Attribute = Annotated[str, Meta(min_length=1, max_length=LONGEST_ATTRIBUTE)]


class Submission(Struct, omit_defaults=True):
    """A request for a task: a submission process makes a task of it."""

    specversion: Literal["1.0"]
    """The version of CloudEvents."""
    id: Annotated[str, Meta(pattern=r"^[A-Za-z0-9._:@-]{1,200}$")]
    """Becomes the task's id: a message that comes again under it is processed once."""
    source: Attribute
    """The sender."""
    type: Attribute
    """``stepward.submission``, or a type of the application's own."""
    subject: str | UnsetType = UNSET
    """Not used."""
    time: Instant | UnsetType = UNSET
    """When it was posted."""
    replyto: Annotated[str, Meta(pattern=r"^replies\.[A-Za-z0-9_-]+\.[A-Za-z0-9_.-]{1,100}$")] | UnsetType = UNSET
    """The private response queue for the task's events: ``replies.``, the application's name, a dot and a name."""
    traceparent: str | UnsetType = UNSET
    """W3C trace context of the sender: the task's trace links to it."""
    store: Attribute | UnsetType = UNSET
    """The identity of the intended store: another one refuses the message. Without it any store takes it."""
    datacontenttype: str | UnsetType = UNSET
    """JSON, whatever this says."""
    data: Any | UnsetType = UNSET
    """The data that the application's ``accept`` reads."""


class ErrorObject(Struct):
    """What went wrong."""

    message: str
    """One line for people."""
    type: str
    """The name of the exception."""
    data: dict[str, Any]
    """The data that the operation attached."""


class EventData(Struct):
    """The data of a status event; further fields depend on its type."""


class RefusedData(EventData):
    """Why no task was made of the message."""

    reason: str
    """One line for people."""


class TaskData(EventData):
    """The data of every status event of a task."""

    workflow: NonEmptyText
    """The name of the task's workflow."""


class ResultData(TaskData):
    """How the task ended."""

    result: Any | UnsetType = UNSET
    """What the workflow returned."""


class ErrorData(TaskData):
    """Why."""

    error: ErrorObject | UnsetType = UNSET
    """The error, if any."""


class StepData(TaskData):
    """The step concerned."""

    step: NonEmptyText
    """The step's key."""
    name: NonEmptyText
    """The name of the called operation, local step or workflow."""


class FailedData(StepData):
    """The failed step, and why."""

    error: ErrorObject
    """What went wrong."""


class DelayData(StepData):
    """The step that is tried again."""

    failures: int
    """How often it failed or ran out of time."""
    repeat_at: float | None
    """When it is tried again: seconds since 1970 by the store's clock."""
    error: ErrorObject | UnsetType = UNSET
    """The error, if an Agent reported one."""


class WaitData(TaskData):
    """What the task waits for."""

    waits_for: str | None
    """A signal, a child task or a time, in words."""
    until: float | None
    """The next time at which the task continues by itself: seconds since 1970 by the store's clock."""


class StatusEventEnvelope(Struct):
    """Status event of a task, sent to the private response queue that its submission named."""

    specversion: Literal["1.0"]
    """The version of CloudEvents."""
    id: NonEmptyText
    """The same whenever the event comes again."""
    source: NonEmptyText
    """The application: ``/stepward/orders``."""
    type: NonEmptyText
    """The type of the event."""
    subject: NonEmptyText
    """The task's id, which is that of the submission; ``unknown`` where a refused message has none."""
    time: Instant
    """When the event was written, by the store's clock."""
    sequence: Annotated[str, Meta(pattern=r"^[0-9]{10}$")]
    """The position of the event among those of its task, from 1: ten digits, so that texts sort like numbers."""
    store: NonEmptyText
    """The identity of the store that wrote it."""
    datacontenttype: Literal["application/json"]
    """Always JSON."""
    data: EventData
    """Data that depend on the event's type."""


DATA: dict[StatusEventType, tuple[type[EventData], str]] = {
    StatusEventType.RECEIVED: (TaskData, "The task was inserted."),
    StatusEventType.REFUSED: (RefusedData, "No task was made of the message, and none will be: it is a dead letter."),
    StatusEventType.STARTED: (TaskData, "A Scheduler has started the task."),
    StatusEventType.STEP_COMPLETED: (StepData, "The workflow received a step's result."),
    StatusEventType.STEP_FAILED: (FailedData, "The workflow received a step's error."),
    StatusEventType.STEP_DELAYED: (DelayData, "An attempt failed or ran out of time: the step is tried again."),
    StatusEventType.WAITING: (WaitData, "The task waits for a signal, a time or a child task."),
    StatusEventType.SUSPENDED: (ErrorData, "An operator suspended the task."),
    StatusEventType.RESUMED: (ErrorData, "An operator resumed the task."),
    StatusEventType.UNDOING: (ErrorData, "The task's steps are being undone."),
    StatusEventType.COMPLETED: (ResultData, "The end."),
    StatusEventType.FAILED: (ErrorData, "The task needs an operator."),
    StatusEventType.UNDONE: (ErrorData, "The end, with everything undone."),
    StatusEventType.CANCELLED: (ErrorData, "The end of a task that was cancelled, with everything undone."),
}
STATUS = tuple(kind.value.removeprefix("stepward.").title().replace(".", "") for kind in DATA)
"""The names of the messages: ``TaskCompleted``."""


def application_schemas() -> dict[str, Schema]:
    """Schemas of submissions, of each type of status event by the message's name, and of their parts."""
    kinds: dict[type[Struct], None] = dict.fromkeys([Submission, StatusEventEnvelope, ErrorObject])
    kinds |= dict.fromkeys(data for data, _ in DATA.values())
    kind = {name: _schema(name, *item) for name, item in zip(STATUS, DATA.items(), strict=True)}
    return schemas(list(kinds)) | kind


def _schema(name: str, kind: StatusEventType, described: tuple[type[EventData], str]) -> Schema:
    data, text = described
    own = {"type": {"enum": [kind.value]}, "data": refer(data)}
    return {
        "title": name,
        "description": text,
        "allOf": [refer(StatusEventEnvelope), {"type": "object", "properties": own}],
    }
