"""Streams of the ASGI application, read event by event: httpx's transport gives an answer only once it has ended."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import httpx


class SentEvent(NamedTuple):
    """A message of a stream."""

    name: str
    id: str
    data: str

    @property
    def task(self) -> tuple[str, str]:
        """The id and the state of the task that it tells of."""
        body = json.loads(self.data)
        return body["id"], body["state"]


class OpenStream:
    """An answer that has begun."""

    def __init__(self, status: int, events: AsyncIterator[SentEvent]) -> None:
        self.status = status
        self.events = events

    async def until(self, *wanted: tuple[str, str]) -> list[SentEvent]:
        """The events up to those by which all of these tasks stand so. Raises TimeoutError."""
        found: list[SentEvent] = []
        async with asyncio.timeout(30):
            async for event in self.events:
                found.append(event)
                if {each.task for each in found if each.name == "status"} >= set(wanted):
                    return found
        raise AssertionError(f"the stream ended before {wanted}")


@asynccontextmanager
async def opened(
    caller: httpx.AsyncClient, path: str, headers: dict[str, str], query: str = ""
) -> AsyncIterator[OpenStream]:
    """The answer to a request for a stream, which is cut off at the end."""
    transport: Any = caller._transport
    chunks: asyncio.Queue[bytes | None] = asyncio.Queue()
    ended = asyncio.Event()
    began: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            began.set_result(message["status"])
            return
        if body := message.get("body"):
            chunks.put_nowait(body)
        if not message.get("more_body"):
            ended.set()

    async def receive() -> Any:
        await ended.wait()
        return {"type": "http.disconnect"}

    async def run() -> None:
        try:
            await transport.app(_scope(path, headers, query), receive, send)
        finally:
            chunks.put_nowait(None)

    running = asyncio.ensure_future(run())
    try:
        async with asyncio.timeout(20):
            status = await began
        yield OpenStream(status, _events(chunks))
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


def _scope(path: str, headers: dict[str, str], query: str) -> dict[str, Any]:
    given = {"host": "127.0.0.1:8321", **{name.lower(): value for name, value in headers.items()}}
    scope: dict[str, Any] = {"type": "http", "method": "GET", "path": path, "raw_path": path.encode()}
    scope |= {"query_string": query.encode(), "scheme": "http", "http_version": "1.1", "root_path": ""}
    scope |= {"headers": [(name.encode(), value.encode()) for name, value in given.items()]}
    return scope | {"client": ("127.0.0.1", 1), "server": ("127.0.0.1", 8321)}


async def _events(chunks: asyncio.Queue[bytes | None]) -> AsyncIterator[SentEvent]:
    text = ""
    while (chunk := await chunks.get()) is not None:
        text += chunk.decode()
        while (end := text.find("\r\n\r\n")) >= 0:
            yield _event(text[:end])
            text = text[end + 4 :]


def _event(message: str) -> SentEvent:
    fields = dict(line.split(": ", 1) for line in message.split("\r\n") if ": " in line and not line.startswith(":"))
    return SentEvent(fields.get("event", ""), fields.get("id", ""), fields.get("data", ""))
