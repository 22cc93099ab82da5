"""Every error that Stepward raises, in one tree; a message says what was expected, found, and is to be done.

StepwardError
├── Refused                  bad input: nothing was changed
│   ├── DeclarationError     an agent, operation, workflow or policy is declared wrongly
│   ├── SettingsError        a setting is missing, malformed or contradicts another
│   ├── InvalidArguments     arguments do not fit the signature
│   ├── InvalidPayload       not JSON, NaN, too deep
│   ├── PayloadTooLarge      over the payload limit
│   ├── InvalidDuration      negative, huge or malformed
│   ├── InvalidFilter        a filter of tasks that cannot be read
│   ├── InvalidId            an id outside the allowed characters or length
│   ├── UnknownWorkflow      no instance ever registered that workflow
│   ├── UnknownOperation     no Agent offers that operation
│   ├── TaskNotFound         no task has that id
│   ├── ValueNotFound        the task has published no value of that name
│   ├── ScheduleNotFound     no recurring task has that name
│   ├── SinkNotFound         the leading Supervisor reports no sink of that name
│   ├── AgentNotFound        no Agent of that name was ever served
│   ├── InstanceNotFound     no live instance has that id
│   ├── BatchNotFound        no batch has that id
│   ├── Unacceptable         a message that no submission can accept
│   ├── UpdateRejected       a task refused an update
│   ├── TaskConflict         the id is taken by a task with other arguments, or the key by a live one
│   ├── CompletionRefused    a completion token that is forged, used, or worth nothing any more
│   ├── InboxFull            a task has more signals waiting than it may
│   ├── TaskChanged          the task is not any more what the asker saw
│   └── IllegalTransition    the task's state does not allow what was asked for
├── StoreError
│   ├── StoreUnavailable     cannot be reached, is busy, read-only or full: exit code 3
│   ├── StoreUnusable        no Stepward store, another app's, or newer than this program
│   └── CommitUnknown        a commit whose outcome is unknown: the instance fences itself
├── InstanceFenced           this instance was declared dead: it forgets its tasks and starts over
├── TransportError           a queue cannot be reached
│   └── QueueRefused         the broker answers, and refuses what this queue was asked
├── AlertRefused             a sink did not take an alert: it is offered again later
├── ArchiveUnavailable       the archive cannot be written: no task is deleted
├── NonDeterministic         a replay asked for something else than the record holds
├── ServiceUnavailable       a remote service did not do its work this time; its Agent calls again
├── LeaseLapsed              the code that beats works on a step that another instance has by now
├── UpdateUnanswered         a task ended without an answer to an update
├── NothingDue               a test in virtual time waits for what never comes
├── StepFailed               a step failed for good; workflow code may catch it
├── Unrecoverable            raised by an operation: no retry, an error reply
└── TaskEnded                what ``result()`` raises for a task that did not end ``processed``
    ├── TaskFailed
    ├── TaskUndone
    └── TaskCancelled
"""

from __future__ import annotations

from typing import Any


class StepwardError(Exception):
    """The root of all errors raised by Stepward."""


class Refused(StepwardError, ValueError):
    """Bad input; nothing was changed."""


class DeclarationError(Refused):
    """An agent, operation, workflow or policy is declared wrongly."""


class SettingsError(Refused):
    """A setting is missing, malformed or contradicts another."""


class InvalidArguments(Refused):
    """Arguments that do not fit the signature."""


class InvalidPayload(Refused):
    """A payload that is not JSON, holds NaN or infinity, or is nested too deeply."""


class PayloadTooLarge(Refused):
    """A payload over the limit (``Settings.payload_bytes``)."""


class InvalidDuration(Refused):
    """A duration that is negative, huge or malformed."""


class InvalidId(Refused):
    """An id outside 1-200 of ``A-Z a-z 0-9 . _ : @ -``."""


class InvalidFilter(Refused):
    """A filter of tasks that cannot be read; the message names the character."""


class UnknownWorkflow(Refused):
    """A workflow name that no instance ever registered."""


class UnknownOperation(Refused):
    """An operation that no Agent offers."""


class TaskNotFound(Refused):
    """No task has that id."""


class UpdateRejected(Refused):
    """A task refused an update: the check of its wait, which records nothing, or the workflow."""


class UpdateUnanswered(StepwardError):
    """A task ended without an answer to an update."""


class ValueNotFound(Refused):
    """The task has published no value of that name."""


class ScheduleNotFound(Refused):
    """No recurring task has that name."""


class SinkNotFound(Refused):
    """The leading Supervisor has no sink of alerts of that name."""


class AgentNotFound(Refused):
    """No Agent of that name was ever served."""


class InstanceNotFound(Refused):
    """No live instance has that id."""


class BatchNotFound(Refused):
    """No batch has that id."""


class TaskConflict(Refused):
    """The id is taken by a task with other arguments, or the key by a task that has not ended."""


class Unacceptable(Refused):
    """A message can never be accepted: it goes to the dead letters with this reason."""


class CompletionRefused(Refused):
    """A completion token that is forged, used or no longer valid; ``reason`` says which, in one word."""

    def __init__(self, message: str, *, reason: str) -> None:
        super().__init__(message)
        self.reason = reason


class InboxFull(Refused):
    """The task already has the most signals that may wait; it accepts more after it has consumed some."""


class TaskChanged(Refused):
    """The task has changed since the asker saw it; ``version`` is its present version."""

    def __init__(self, message: str, *, version: str) -> None:
        super().__init__(message)
        self.version = version


class IllegalTransition(Refused):
    """The task's state does not allow what was asked for."""


class StoreError(StepwardError):
    """The state store could not complete the request."""


class StoreUnavailable(StoreError):
    """The store cannot be reached, is busy, read-only or full; nothing was changed."""


class StoreUnusable(StoreError):
    """The file is no Stepward store, belongs to another app, or is newer than this program."""


class CommitUnknown(StoreError):
    """The outcome of a commit is unknown; only a new instance may continue."""


class InstanceFenced(StepwardError):
    """This instance was declared dead; its writes have no effect."""


class TransportError(StepwardError):
    """A queue cannot be reached or refused a message."""


class QueueRefused(TransportError):
    """The broker is reachable and refuses a request about a queue; ``reason`` is the broker's answer."""

    def __init__(self, message: str, *, reason: str) -> None:
        super().__init__(message)
        self.reason = reason


class AlertRefused(StepwardError):
    """A receiver refused an alert or a status event; it is offered again later.

    ``status`` is its answer over HTTP, if it gave one.
    """

    def __init__(self, message: str, *, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class ArchiveUnavailable(StepwardError):
    """The archive's folder cannot be written; no task is deleted until it can."""


class ServiceUnavailable(StepwardError):
    """A remote service did not do its work this time. Raised by operations; the Agent calls again.

    ``maybe_done=False``: the effect cannot have happened; ``retry_after``: the seconds that the service asks to wait.
    """

    def __init__(self, message: str, *, maybe_done: bool = True, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.maybe_done = maybe_done
        self.retry_after = retry_after


class NonDeterministic(StepwardError):
    """A replay requested something else than the record holds; the message names both sides."""


class LeaseLapsed(StepwardError):
    """A heartbeat came too late: another instance has the step, and this code must stop before it acts."""


class NothingDue(StepwardError):
    """A test in virtual time waits for what never comes."""


class StepFailed(StepwardError):
    """A step failed for good.

    ``step`` is its key; ``data`` comes from its ``Unrecoverable``; ``maybe_done``: whether the effect may have happened
    in any attempt. ``failure`` describes the last attempt: ``type`` (of the exception),
    ``at``, ``traceback``, ``attempt``, and a summary of the attempts before it, ``earlier``.
    """

    def __init__(
        self,
        message: str,
        *,
        step: str = "",
        maybe_done: bool = False,
        data: dict[str, Any] | None = None,
        failure: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.step = step
        self.maybe_done = maybe_done
        self.data: dict[str, Any] = data or {}
        self.failure: dict[str, Any] = failure or {}


class Unrecoverable(StepwardError):
    """Raised by an operation when repeating is pointless: the service refused, or may have acted (``maybe_done``), so
    that undo covers it. Keyword arguments must be JSON; ``StepFailed.data`` and the operator's alert have them."""

    def __init__(self, message: str, *, maybe_done: bool = False, **data: Any) -> None:
        super().__init__(message)
        self.maybe_done = maybe_done
        self.data = data


class TaskEnded(StepwardError):
    """A task ended otherwise than ``processed``; ``cause`` holds the recorded error, if any."""

    def __init__(self, message: str, *, cause: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.cause: dict[str, Any] = cause or {}


class TaskFailed(TaskEnded):
    """The task is in ``error``: an operator has an alert about it."""


class TaskUndone(TaskEnded):
    """The task was undone: whatever it had done is compensated."""


class TaskCancelled(TaskEnded):
    """The task was cancelled, and whatever it had done is compensated."""
