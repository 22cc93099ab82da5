"""The service over HTTP/1.1 on a free port of 127.0.0.1: a closed connection ends the call."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import io
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus

import msgspec

from stepward.contract_kit.checked_service import CheckedService, ServiceReply
from stepward.runtime.cancelling import end_tasks

MOST_HEADER_BYTES = 64 * 1024
MOST_BODY_BYTES = 1024 * 1024
END_SECONDS = 1.0
BAD = ServiceReply(400, {"title": "expected POST with a Content-Length of at most 1 MiB"})
FAULTS = (OSError, EOFError, ValueError, asyncio.LimitOverrunError, http.client.HTTPException)


@asynccontextmanager
async def serving(service: CheckedService) -> AsyncIterator[str]:
    """The address of the service while the block runs."""
    connections: set[asyncio.Task[None]] = set()

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(_serve(service, reader, writer), name="contract-kit-service")
        connections.add(task)
        task.add_done_callback(connections.discard)

    server = await asyncio.start_server(connected, "127.0.0.1", 0, limit=MOST_HEADER_BYTES)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        await end_tasks(connections, END_SECONDS)


async def _serve(service: CheckedService, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer one request, and close the connection."""
    with contextlib.closing(writer), contextlib.suppress(*FAULTS):
        head = await reader.readuntil(b"\r\n\r\n")
        line, _, rest = head.partition(b"\r\n")
        method, path, _ = line.decode("ascii").split(" ")
        headers = {name.lower(): value for name, value in http.client.parse_headers(io.BytesIO(rest)).items()}
        length = int(headers.get("content-length", "-1"))
        if method != "POST" or not 0 <= length <= MOST_BODY_BYTES:
            await _write(writer, BAD)
            return
        body = await reader.readexactly(length)
        answering = asyncio.ensure_future(service.answer(path, headers, body))
        closing = asyncio.ensure_future(reader.read(1))
        try:
            await asyncio.wait([answering, closing], return_when=asyncio.FIRST_COMPLETED)
            if answering.done():
                await _write(writer, answering.result())
        finally:
            await end_tasks([answering, closing], END_SECONDS)


async def _write(writer: asyncio.StreamWriter, reply: ServiceReply) -> None:
    body = msgspec.json.encode(reply.body)
    head = (
        f"HTTP/1.1 {reply.status} {HTTPStatus(reply.status).phrase}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    writer.write(head.encode() + body)
    await writer.drain()
