"""Error pages: what was expected, what was found, what to do."""

from __future__ import annotations

import logging
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from litestar import Request, Response
from litestar.exceptions import HTTPException
from litestar.types import ExceptionHandlersMap

from stepward.console.page_frame import Console
from stepward.errors import StepwardError
from stepward.http.exception_handlers import HttpRefusal
from stepward.http.problem_documents import status_of

logger = logging.getLogger("stepward.console")
STALE = 409
BUG = "this is a bug of the console; its log has more"


def error_pages(console: Console) -> ExceptionHandlersMap:
    """The handlers of each class of errors."""

    def answer(request: Request[Any, Any, Any], status: int, detail: str, headers: dict[str, str]) -> Response[Any]:
        values = {
            "app": "",
            "status": status,
            "title": HTTPStatus(status).phrase,
            "detail": detail,
            "is_stale": status == STALE,
            "back": _back(request),
        }
        return console.bare_page("error.html", values, status=status, headers=headers)

    def refusal(request: Request[Any, Any, Any], error: HttpRefusal) -> Response[Any]:
        return answer(request, error.status, error.detail, error.headers)

    def of_stepward(request: Request[Any, Any, Any], error: StepwardError) -> Response[Any]:
        return answer(request, status_of(error), str(error), {})

    def of_framework(request: Request[Any, Any, Any], error: HTTPException) -> Response[Any]:
        return answer(request, error.status_code, error.detail, dict(error.headers or {}))

    def bug(request: Request[Any, Any, Any], error: Exception) -> Response[Any]:
        logger.error("this is a bug: %s", type(error).__name__, exc_info=error)
        return answer(request, 500, BUG, {})

    handlers: dict[Any, Callable[..., Response[Any]]] = {
        HttpRefusal: refusal,
        StepwardError: of_stepward,
        HTTPException: of_framework,
        Exception: bug,
    }
    return handlers


def _back(request: Request[Any, Any, Any]) -> str:
    """The address of the page that the request came from."""
    path = str(request.scope["path"])
    return path.removesuffix("/act")
