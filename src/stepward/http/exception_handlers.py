"""Error answers as problem documents (RFC 9457)."""

from __future__ import annotations

import logging
from http import HTTPStatus
from typing import Any

from litestar import Request, Response
from litestar.exceptions import HTTPException, ValidationException
from litestar.types import ExceptionHandlersMap

from stepward.errors import StepwardError, TaskChanged
from stepward.http.problem_documents import (
    PROBLEM_JSON,
    FieldProblem,
    Problem,
    encoded,
    headers_of,
    problem_of,
    problem_of_error,
)

logger = logging.getLogger("stepward.http")

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


def _answer(problem: Problem, headers: dict[str, str] | None = None) -> Response[bytes]:
    return Response(encoded(problem), status_code=problem.status, media_type=PROBLEM_JSON, headers=headers or {})


def _refusal(_: Request[Any, Any, Any], error: HttpRefusal) -> Response[bytes]:
    errors = [] if error.field is None else [FieldProblem(error.field, error.detail)]
    return _answer(problem_of(error.status, error.detail, errors), error.headers)


def _stepward_error(_: Request[Any, Any, Any], error: StepwardError) -> Response[bytes]:
    problem = problem_of_error(error)
    return _answer(problem, headers_of(problem))


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
