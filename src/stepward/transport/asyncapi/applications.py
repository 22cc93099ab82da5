"""What applications post and hear: structs that describe, as events are written from plain values."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from stepward.model.messages.cloudevents import LONGEST_ATTRIBUTE
from stepward.model.messages.status_events import Told
from stepward.transport.asyncapi.schemas import Schema, refer, schemas
from stepward.transport.wire.wire_events import Instant

NonEmptyText = Annotated[str, Meta(min_length=1)]
Attribute = Annotated[str, Meta(min_length=1, max_length=LONGEST_ATTRIBUTE)]


class Submission(Struct, omit_defaults=True):
    """What is to be done: a submission process makes a task of it."""

    specversion: Literal["1.0"]
    """The version of CloudEvents."""
    id: Annotated[str, Meta(pattern=r"^[A-Za-z0-9._:@-]{1,200}$")]
    """Becomes the task's id: what comes again under it is done once."""
    source: Attribute
    """Who posts."""
    type: Attribute
    """``stepward.submission``, or what the application likes to call it."""
    subject: str | UnsetType = UNSET
    """Nothing is done with it."""
    time: Instant | UnsetType = UNSET
    """When it was posted."""
    replyto: Annotated[str, Meta(pattern=r"^replies\.[A-Za-z0-9_-]+\.[A-Za-z0-9_.-]{1,100}$")] | UnsetType = UNSET
    """The private response queue for word of the task: ``replies.``, the application's name, a dot and a name."""
    store: Attribute | UnsetType = UNSET
    """The identity of the store that is meant: another one refuses the message. Without it any takes it."""
    datacontenttype: str | UnsetType = UNSET
    """JSON, whatever is said here."""
    data: Any | UnsetType = UNSET
    """What the application's ``accept`` reads."""


class ErrorObject(Struct):
    """What went wrong."""

    message: str
    """One line for people."""
    type: str
    """The name of the exception."""
    data: dict[str, Any]
    """What the operation gave with it."""


class EventData(Struct):
    """What a status event carries; more by its type."""


class RefusedData(EventData):
    """Why no task was made of the message."""

    reason: str
    """One line for people."""


class TaskData(EventData):
    """What every status event of a task carries."""

    workflow: NonEmptyText
    """The name of the task's workflow."""


class ResultData(TaskData):
    """How it ended."""

    result: Any | UnsetType = UNSET
    """What the workflow returned."""


class ErrorData(TaskData):
    """Why."""

    error: ErrorObject | UnsetType = UNSET
    """What went wrong, if anything did."""


class StepData(TaskData):
    """Which step."""

    step: NonEmptyText
    """The step's key."""
    name: NonEmptyText
    """The name of the operation, the local step or the workflow that was called."""


class FailedData(StepData):
    """Which step failed, and why."""

    error: ErrorObject
    """What went wrong."""


class DelayData(StepData):
    """Which step is tried again."""

    failures: int
    """How often it failed or ran out of time."""
    repeat_at: float | None
    """When it is tried again: seconds since 1970 by the store's clock."""
    error: ErrorObject | UnsetType = UNSET
    """What went wrong, if an Agent said so."""


class WaitData(TaskData):
    """What is waited for."""

    waits_for: str | None
    """A signal, a child task or a time, in words."""
    until: float | None
    """The next instant at which the task goes on by itself: seconds since 1970 by the store's clock."""


class StatusEventEnvelope(Struct):
    """Word of a task to the private response queue that its submission named."""

    specversion: Literal["1.0"]
    """The version of CloudEvents."""
    id: NonEmptyText
    """The same whenever the event comes again."""
    source: NonEmptyText
    """The application: ``/stepward/orders``."""
    type: NonEmptyText
    """What is told."""
    subject: NonEmptyText
    """The task's id, which is the message's that asked for it; ``unknown`` where a refused message has none."""
    time: Instant
    """When it was told, by the store's clock."""
    sequence: Annotated[str, Meta(pattern=r"^[0-9]{10}$")]
    """The place of the event among those of its task, from 1: of ten digits, so that texts sort like numbers."""
    store: NonEmptyText
    """The identity of the store that tells it."""
    datacontenttype: Literal["application/json"]
    """Always JSON."""
    data: EventData
    """More about it."""


DATA: dict[Told, tuple[type[EventData], str]] = {
    Told.RECEIVED: (TaskData, "The task was inserted."),
    Told.REFUSED: (RefusedData, "No task was made of the message, and none will be: it lies among the dead letters."),
    Told.STARTED: (TaskData, "A Scheduler has taken the task up."),
    Told.STEP_COMPLETED: (StepData, "The workflow was given a step's result."),
    Told.STEP_FAILED: (FailedData, "The workflow was given a step's error."),
    Told.STEP_DELAYED: (DelayData, "An attempt failed or ran out of time: the step is tried again."),
    Told.WAITING: (WaitData, "The task waits for a signal, a time or a child task."),
    Told.SUSPENDED: (ErrorData, "An operator has the task wait."),
    Told.RESUMED: (ErrorData, "An operator has the task go on."),
    Told.UNDOING: (ErrorData, "What was done is being undone."),
    Told.COMPLETED: (ResultData, "The end."),
    Told.FAILED: (ErrorData, "The task is in an operator's hands."),
    Told.UNDONE: (ErrorData, "The end, with everything undone."),
    Told.CANCELLED: (ErrorData, "The end of a task that was cancelled, with everything undone."),
}
STATUS = tuple(told.value.removeprefix("stepward.").title().replace(".", "") for told in DATA)
"""The names of the messages: ``TaskCompleted``."""


def application_schemas() -> dict[str, Schema]:
    """Schemas of what is posted, of each type of status event by the message's name, and of what these are made of."""
    kinds: dict[type[Struct], None] = dict.fromkeys([Submission, StatusEventEnvelope, ErrorObject])
    kinds |= dict.fromkeys(data for data, _ in DATA.values())
    told = {name: _schema(name, *item) for name, item in zip(STATUS, DATA.items(), strict=True)}
    return schemas(list(kinds)) | told


def _schema(name: str, told: Told, described: tuple[type[EventData], str]) -> Schema:
    data, text = described
    own = {"type": {"enum": [told.value]}, "data": refer(data)}
    return {
        "title": name,
        "description": text,
        "allOf": [refer(StatusEventEnvelope), {"type": "object", "properties": own}],
    }
