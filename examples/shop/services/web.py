"""The HTTP surface of a service: reads a request, lets a fault strike, and answers from the ledger."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from examples.shop.services.call import ServiceCall, read_call
from examples.shop.services.connection import HangUp
from examples.shop.services.faults import FaultBook, FaultKind, StandingFault, read_faults
from examples.shop.services.ledger import Ledger
from examples.shop.services.problem import JSON, PROBLEM_JSON, Problem
from examples.shop.services.service import Service

LARGEST_BODY = 1024 * 1024
KILLED = 137


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoints:
    """What each path of one service does; `stopping` ends the waits of slow and hanging requests.

    The ledger is called on the event loop: one effect after another is what makes the service simple to
    trust, and a commit takes about as long as a hop to a thread and back.
    """

    service: Service
    ledger: Ledger
    faults: FaultBook
    stopping: asyncio.Event = field(default_factory=asyncio.Event)

    async def act(self, request: Request) -> Response:
        """Do or undo what the service is for."""
        call = read_call(self.service, request.path_params["action"], request.headers, await _read(request))
        self.ledger.deliver(call, _now())
        call.refuse_if_late(_now())
        fault = self.faults.strike(call)
        if fault is not None:
            unanswered = await self._fail_before(request, fault)
            if unanswered is not None:
                return unanswered
        response = self._perform(call)
        return response if fault is None else _fail_after(fault, response)

    async def show_ledger(self, _request: Request) -> Response:
        """Every effect, oldest first."""
        return _json(self.ledger.effects())

    async def show_deliveries(self, _request: Request) -> Response:
        """How often each key has arrived."""
        return _json(self.ledger.deliveries())

    async def show_health(self, _request: Request) -> Response:
        """That the process is there."""
        return _json({"service": self.service.name, "status": "ok"})

    async def put_faults(self, request: Request) -> Response:
        """Replace the faults."""
        self.faults.replace(read_faults(await _read(request)))
        return _json(self.faults.standing())

    async def show_faults(self, _request: Request) -> Response:
        """The faults with what is left of them and what they hit."""
        return _json(self.faults.standing())

    async def delete_faults(self, _request: Request) -> Response:
        """Switch every fault off and forget its hits."""
        self.faults.replace([])
        return Response(status_code=204)

    async def _fail_before(self, request: Request, fault: StandingFault) -> Response | None:
        match fault.kind:
            case FaultKind.DOWN:
                raise Problem(503, "service down", headers={"Retry-After": "1"})
            case FaultKind.FLAKY:
                raise Problem(503, "service unavailable for a moment")
            case FaultKind.DECLINED:
                raise Problem(402, "card declined")
            case FaultKind.HANG:
                await _first_of(_client_left(request), self.stopping.wait())
                return HangUp()
            case FaultKind.SLOW:
                await _first_of(asyncio.sleep(fault.seconds or 0), self.stopping.wait())
                return HangUp() if self.stopping.is_set() else None
            case _:
                return None

    def _perform(self, call: ServiceCall) -> Response:
        try:
            # Once more: a slow fault may have taken the time that the caller had given.
            call.refuse_if_late(_now())
            answer = self.ledger.perform(call, _now())
        except Problem as problem:
            return _refuse(problem)
        media_type = JSON if answer.status < 400 else PROBLEM_JSON
        return Response(answer.body, answer.status, media_type=media_type)


def build(endpoints: Endpoints) -> Starlette:
    """The ASGI application of one service."""
    return Starlette(
        routes=[
            Route("/ledger", endpoints.show_ledger),
            Route("/deliveries", endpoints.show_deliveries),
            Route("/health", endpoints.show_health),
            Route("/faults", endpoints.show_faults),
            Route("/faults", endpoints.put_faults, methods=["PUT"]),
            Route("/faults", endpoints.delete_faults, methods=["DELETE"]),
            Route("/{action}", endpoints.act, methods=["POST"]),
        ],
        exception_handlers={
            Problem: _on_problem,
            HTTPException: _on_http_exception,
            ClientDisconnect: _on_client_left,
        },
    )


def _fail_after(fault: StandingFault, response: Response) -> Response:
    if fault.kind is FaultKind.CRASH:
        os._exit(KILLED)
    return HangUp() if fault.kind is FaultKind.ANSWER_LOST else response


async def _read(request: Request) -> bytes:
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > LARGEST_BODY:
            raise Problem(413, "body too large", f"at most {LARGEST_BODY} bytes")
    return bytes(body)


async def _client_left(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _first_of(*waits: Coroutine[Any, Any, object]) -> None:
    tasks = [asyncio.create_task(wait) for wait in waits]
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in tasks:
        task.cancel()


def _now() -> datetime:
    return datetime.now(UTC)


def _json(document: object) -> Response:
    return Response(msgspec.json.encode(document), media_type=JSON)


def _refuse(problem: Problem) -> Response:
    return Response(problem.body(), problem.status, headers=problem.headers, media_type=PROBLEM_JSON)


async def _on_problem(_request: Request, error: Exception) -> Response:
    assert isinstance(error, Problem)
    return _refuse(error)


async def _on_http_exception(_request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return _refuse(Problem(error.status_code, error.detail, headers=error.headers))


async def _on_client_left(_request: Request, _error: Exception) -> Response:
    return HangUp()
