"""Starlette and FastAPI: a client that lives as long as the web application."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection, Request
from starlette.responses import Response

from stepward.app import App
from stepward.client import Client
from stepward.errors import Refused, StepwardError
from stepward.http.problem_documents import PROBLEM_JSON, encoded, headers_of, problem_of_error
from stepward.integrations.server_sent_events import value_events

__all__ = ["answer", "client_of", "error_handlers", "lifespan", "task_id_of", "value_events"]

STATE = "stepward_client"
"""The key of the client in the lifespan's state."""
HEADER = "idempotency-key"
ID = re.compile(r"[A-Za-z0-9_.:@-]{1,200}")

Lifespan = Callable[[Any], AbstractAsyncContextManager[Mapping[str, Any]]]


def lifespan(app: App, *, run: bool = False) -> Lifespan:
    """The lifespan of a web application that submits tasks: its client is opened at start and closed at the end.

    With ``run`` every actor of ``app`` runs in the same process, for development and small services.
    """

    @asynccontextmanager
    async def opened(web: object) -> AsyncIterator[Mapping[str, Any]]:
        if run:
            async with app.running(), app.client() as client:
                yield {STATE: client}
        else:
            async with app.client() as client:
                yield {STATE: client}

    return opened


def client_of(request: HTTPConnection) -> Client:
    """The client that ``lifespan`` opened. Raises Refused where the web application has another lifespan."""
    client = getattr(request.state, STATE, None)
    if not isinstance(client, Client):
        raise Refused(
            "stepward client: expected a web application with lifespan=stepward.integrations.starlette.lifespan(app), "
            "found another lifespan; pass that one, or enter it within your own and yield its state"
        )
    return client


def task_id_of(request: HTTPConnection) -> str | None:
    """The request's ``Idempotency-Key`` as the id of a task, so that a repeated request starts nothing.

    None without that header: ``submit`` then makes an id.

    Raises HTTPException with status 422 for a header that is no id of a task.
    """
    key = request.headers.get(HEADER)
    if key is not None and not ID.fullmatch(key):
        raise HTTPException(
            422, f"Idempotency-Key: expected 1 to 200 characters of A-Z a-z 0-9 _ . : @ -, found {key[:50]!r}"
        )
    return key


async def answer(request: Request, error: StepwardError) -> Response:
    """An error of Stepward's own as a problem document (RFC 9457): a conflict is 409, a wrong argument 422."""
    problem = problem_of_error(error)
    return Response(encoded(problem), problem.status, headers_of(problem), PROBLEM_JSON)


error_handlers: dict[int | type[Exception], Callable[[Request, Any], Coroutine[Any, Any, Response]]] = {
    StepwardError: answer
}
"""For the argument ``exception_handlers`` of Starlette and FastAPI."""
