"""Errors of Stepward's own as problem documents (RFC 9457): a conflict is 409, a wrong argument 422."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse, HttpResponseBase

from stepward.errors import StepwardError
from stepward.http.problem_documents import PROBLEM_JSON, encoded, headers_of, problem_of_error


class ErrorMiddleware:
    """Answers for views that let an error of Stepward's own pass."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """The view's answer."""
        return self._get_response(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        """The answer to an error; None for those of others."""
        if not isinstance(error, StepwardError):
            return None
        problem = problem_of_error(error)
        return HttpResponse(
            encoded(problem), status=problem.status, headers=headers_of(problem), content_type=PROBLEM_JSON
        )
