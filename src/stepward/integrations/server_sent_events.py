"""A stream of a task as server-sent events, for browsers and their ``EventSource``."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from stepward.client import TaskHandle
from stepward.errors import Refused
from stepward.model.states import TASK_ENDS

PAUSE_SECONDS = 10.0
"""Seconds without a value after which a comment is sent: proxies keep the connection, and a reader that left shows."""
HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
StreamedValues = AsyncIterator[tuple[int, Any]]


async def value_events(request: Request, task: TaskHandle[Any], stream: str) -> Response:
    """The values of a task's stream as server-sent events, each a JSON text with its position as the event's id.

    Goes on behind ``Last-Event-ID``, which browsers send when they reconnect, and ends with the task; a browser that
    reconnects then gets 204, which stops it. Raises TaskNotFound.
    """
    has_ended = (await task.status()).state in TASK_ENDS
    last = request.headers.get("last-event-id")
    values = task.stream(stream, 0 if last is None else _position(last) + 1)
    first = await anext(values, None) if has_ended else None
    if has_ended and first is None and last is not None:
        return Response(status_code=204)
    return StreamingResponse(_written(values, first), media_type="text/event-stream", headers=HEADERS)


def _position(last: str) -> int:
    if not (last.isascii() and last.isdecimal() and len(last) < 19):
        raise Refused(f"Last-Event-ID: expected the position of a value, found {last[:40]!r}; leave it out")
    return int(last)


async def _written(values: StreamedValues, first: tuple[int, Any] | None) -> AsyncIterator[bytes]:
    if first is not None:
        yield _event(*first)
    waiting = asyncio.ensure_future(anext(values, None))
    try:
        while True:
            done, _ = await asyncio.wait([waiting], timeout=PAUSE_SECONDS)
            if not done:
                yield b": \n\n"
                continue
            found = waiting.result()
            if found is None:
                return
            yield _event(*found)
            waiting = asyncio.ensure_future(anext(values, None))
    finally:
        waiting.cancel()
        with suppress(asyncio.CancelledError, StopAsyncIteration):
            await waiting


def _event(position: int, value: Any) -> bytes:
    return b"id: %d\ndata: %b\n\n" % (position, msgspec.json.encode(value))
