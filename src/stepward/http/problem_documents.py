"""Problem documents (RFC 9457), and the status of each error; this module needs no package of the extra."""

from __future__ import annotations

from http import HTTPStatus

import msgspec
from msgspec import Struct

from stepward.errors import (
    AgentNotFound,
    BatchNotFound,
    CommitUnknown,
    CompletionRefused,
    IllegalTransition,
    InboxFull,
    InstanceNotFound,
    PayloadTooLarge,
    Refused,
    ScheduleNotFound,
    SinkNotFound,
    StepwardError,
    StoreUnavailable,
    StoreUnusable,
    TaskChanged,
    TaskConflict,
    TaskNotFound,
    TransportError,
)

PROBLEM_JSON = "application/problem+json"
LONGEST_DETAIL = 2_000
"""Most characters of a problem's detail."""

STATUSES: tuple[tuple[type[StepwardError], int], ...] = (
    (TaskNotFound, 404),
    (ScheduleNotFound, 404),
    (SinkNotFound, 404),
    (AgentNotFound, 404),
    (InstanceNotFound, 404),
    (BatchNotFound, 404),
    (TaskConflict, 409),
    (TaskChanged, 412),
    (IllegalTransition, 409),
    (CompletionRefused, 409),
    (InboxFull, 429),
    (PayloadTooLarge, 413),
    (Refused, 422),
    (StoreUnavailable, 503),
    (StoreUnusable, 503),
    (CommitUnknown, 503),
    (TransportError, 503),
    (StepwardError, 409),
)
"""The status of each class of errors; the first class that matches is used."""


class FieldProblem(Struct, frozen=True):
    """An error of one field of a request."""

    field: str
    """``$.arguments[0]`` in the body, or the name of a parameter or header."""
    message: str


class Problem(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A problem document."""

    title: str
    status: int
    detail: str
    type: str = "about:blank"
    errors: list[FieldProblem] = []


def problem_of(status: int, detail: str, errors: list[FieldProblem] | None = None) -> Problem:
    """A problem document."""
    return Problem(title=HTTPStatus(status).phrase, status=status, detail=detail[:LONGEST_DETAIL], errors=errors or [])


def encoded(problem: Problem) -> bytes:
    """A problem document as JSON bytes."""
    return msgspec.json.encode(problem)


def status_of(error: StepwardError) -> int:
    """The status for an error."""
    return next(status for kind, status in STATUSES if isinstance(error, kind))


def problem_of_error(error: StepwardError) -> Problem:
    """The problem document for an error of Stepward's own; a wrong argument is named as its field."""
    status = status_of(error)
    named = str(error).partition(":")[0]
    errors = [FieldProblem(named, str(error))] if status == HTTPStatus.UNPROCESSABLE_ENTITY else []
    return problem_of(status, str(error), errors)


def headers_of(problem: Problem) -> dict[str, str]:
    """The headers that go with a problem: when to try again, if that helps."""
    return {"Retry-After": "1"} if problem.status >= HTTPStatus.SERVICE_UNAVAILABLE else {}
