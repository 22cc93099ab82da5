"""A pooler in transaction mode, as small as it can be: after each transaction the client meets another backend."""

from __future__ import annotations

import asyncio
import contextlib
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

SSL_REQUEST = 80877103
TAKEN = {b"user", b"database", b"client_encoding", b"application_name"}
"""What a pooler takes of a client that connects; anything else could not be kept for it."""
BACKENDS = 2
IDLE = b"I"
READY = b"Z"
DESCRIBED = b"TnE"
"""What the description of a statement ends with."""

Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@asynccontextmanager
async def pooler(port: int) -> AsyncIterator[int]:
    """A pooler in front of the server at ``port``; its own port."""
    clients: dict[asyncio.Task[None], asyncio.StreamWriter] = {}

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        clients[task] = writer
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            await _serve((reader, writer), port)
        del clients[task]
        await _closed(writer)

    listener = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield listener.sockets[0].getsockname()[1]
    finally:
        listener.close()
        for writer in clients.values():
            writer.close()
        await asyncio.gather(*clients)


async def _closed(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with contextlib.suppress(ConnectionError):
        await writer.wait_closed()


async def _serve(client: Stream, port: int) -> None:
    startup = await _startup(client)
    unknown = set(startup[8:].rstrip(b"\0").split(b"\0")[::2]) - TAKEN
    if unknown:
        text = b"unsupported startup parameter: " + min(unknown)
        client[1].write(_frame(b"E", b"SFATAL\0VFATAL\0C08P01\0M" + text + b"\0\0"))
        return
    backends = [await asyncio.open_connection("127.0.0.1", port) for _ in range(BACKENDS)]
    try:
        for number, backend in enumerate(backends):
            await _greet(backend, startup, client if number == 0 else None)
        await _relay(client, backends)
    finally:
        for _, writer in backends:
            await _closed(writer)


async def _startup(client: Stream) -> bytes:
    """The packet with which a client begins; no encryption is spoken here."""
    while True:
        (length,) = struct.unpack("!i", await client[0].readexactly(4))
        packet = struct.pack("!i", length) + await client[0].readexactly(length - 4)
        if struct.unpack("!i", packet[4:8])[0] != SSL_REQUEST:
            return packet
        client[1].write(b"N")


async def _greet(backend: Stream, startup: bytes, client: Stream | None) -> None:
    """Begins a session at the server; the client receives the answer of the first one."""
    backend[1].write(startup)
    kind = b""
    while kind != b"Z":
        kind, body = await _read(backend)
        if client is not None:
            client[1].write(_frame(kind, body))


async def _relay(client: Stream, backends: list[Stream]) -> None:
    """Pass on what the client asks until the server is ready again; outside of a transaction, the next one is met."""
    current = 0
    while True:
        kind, body = await _read(client)
        if kind == b"X":
            return
        backend = backends[current]
        backend[1].write(_frame(kind, body))
        if kind == b"H":
            await _answer(backend, client, DESCRIBED)
        elif kind in (b"S", b"Q"):
            status = await _answer(backend, client, READY)
            current = (current + 1) % BACKENDS if status == IDLE else current


async def _answer(backend: Stream, client: Stream, last: bytes) -> bytes:
    """Pass on what the server says, up to a message of the kinds in ``last``."""
    kind = b"-"
    while kind not in last:
        kind, body = await _read(backend)
        client[1].write(_frame(kind, body))
    return body


async def _read(stream: Stream) -> tuple[bytes, bytes]:
    kind, length = struct.unpack("!ci", await stream[0].readexactly(5))
    return kind, await stream[0].readexactly(length - 4)


def _frame(kind: bytes, body: bytes) -> bytes:
    return kind + struct.pack("!i", len(body) + 4) + body
