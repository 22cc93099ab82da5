"""Error answers as problem documents (RFC 9457)."""

from __future__ import annotations

import logging
from http import HTTPStatus
from typing import Any

import msgspec
from litestar import Request, Response
from litestar.exceptions import HTTPException, ValidationException
from litestar.types import ExceptionHandlersMap
from msgspec import Struct

from stepward.errors import (
    AgentNotFound,
    BatchNotFound,
    CommitUnknown,
    CompletionRefused,
    IllegalTransition,
    InboxFull,
    PayloadTooLarge,
    Refused,
    ScheduleNotFound,
    StepwardError,
    StoreUnavailable,
    StoreUnusable,
    TaskChanged,
    TaskConflict,
    TaskNotFound,
    TransportError,
)

logger = logging.getLogger("stepward.http")

PROBLEM_JSON = "application/problem+json"
UNAVAILABLE = 503
LONGEST_DETAIL = 2_000
"""Most characters of a problem's detail."""


SENT_AS = {
    "in_state": "state",
    "key": "Idempotency-Key",
    "prefer": "Prefer",
    "if_match": "If-Match",
    "last": "Last-Event-ID",
    "task_id": "id",
    "batch_id": "id",
}
"""The names in a request of those route parameters that have another name in Python."""


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


STATUSES: tuple[tuple[type[StepwardError], int], ...] = (
    (TaskNotFound, 404),
    (ScheduleNotFound, 404),
    (AgentNotFound, 404),
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


class HttpRefusal(Exception):
    """Ends a request with a problem document of this status."""

    def __init__(
        self, status: int, detail: str, *, field: str | None = None, headers: dict[str, str] | None = None
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.field = field
        self.headers = headers or {}


def problem_of(status: int, detail: str, errors: list[FieldProblem] | None = None) -> Problem:
    """A problem document."""
    return Problem(title=HTTPStatus(status).phrase, status=status, detail=detail[:LONGEST_DETAIL], errors=errors or [])


def encoded(problem: Problem) -> bytes:
    """A problem document as JSON bytes."""
    return msgspec.json.encode(problem)


def status_of(error: StepwardError) -> int:
    """The status for an error."""
    return next(status for kind, status in STATUSES if isinstance(error, kind))


def _answer(problem: Problem, headers: dict[str, str] | None = None) -> Response[bytes]:
    return Response(encoded(problem), status_code=problem.status, media_type=PROBLEM_JSON, headers=headers or {})


def _refusal(_: Request[Any, Any, Any], error: HttpRefusal) -> Response[bytes]:
    errors = [] if error.field is None else [FieldProblem(error.field, error.detail)]
    return _answer(problem_of(error.status, error.detail, errors), error.headers)


def _stepward_error(_: Request[Any, Any, Any], error: StepwardError) -> Response[bytes]:
    status = status_of(error)
    named = str(error).partition(":")[0]
    errors = [FieldProblem(named, str(error))] if status == HTTPStatus.UNPROCESSABLE_ENTITY else []
    return _answer(problem_of(status, str(error), errors), {"Retry-After": "1"} if status >= UNAVAILABLE else None)


def _task_changed(_: Request[Any, Any, Any], error: TaskChanged) -> Response[bytes]:
    problem = problem_of(HTTPStatus.PRECONDITION_FAILED, str(error), [FieldProblem("If-Match", str(error))])
    return _answer(problem, {"ETag": f'"{error.version}"'})


def _validation(_: Request[Any, Any, Any], error: ValidationException) -> Response[bytes]:
    found = [_field_problem(entry) for entry in error.extra or () if isinstance(entry, dict)]
    detail = "; ".join(f"{problem.field}: {problem.message}" for problem in found) or error.detail
    return _answer(problem_of(HTTPStatus.UNPROCESSABLE_ENTITY, detail, found))


def _field_problem(found: dict[str, Any]) -> FieldProblem:
    name = str(found.get("key", found.get("source", "body")))
    return FieldProblem(SENT_AS.get(name, name), str(found.get("message", "")))


def _http(_: Request[Any, Any, Any], error: HTTPException) -> Response[bytes]:
    status = error.status_code
    return _answer(problem_of(status, error.detail), error.headers)


def _bug(_: Request[Any, Any, Any], error: Exception) -> Response[bytes]:
    logger.error("this is a bug: %s", type(error).__name__, exc_info=error)
    return _answer(problem_of(500, "this is a bug of the server; its log has more"))


EXCEPTION_HANDLERS: ExceptionHandlersMap = {
    HttpRefusal: _refusal,
    StepwardError: _stepward_error,
    TaskChanged: _task_changed,
    ValidationException: _validation,
    HTTPException: _http,
    Exception: _bug,
}
