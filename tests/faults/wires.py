"""A wire between clients and a server on loopback, that can be cut, left half open, or made to lose what passes."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Awaitable, Callable
from typing import Self

CHUNK = 64 * 1024
RESET = struct.pack("ii", 1, 0)
"""No lingering: who is left learns of it by a reset."""

Pump = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class Wire:
    """Listens on ``port`` and passes everything on to a server, as it is."""

    def __init__(self, server_port: int) -> None:
        self.port = 0
        self.connections = 0
        """How many were ever made."""
        self._server_port = server_port
        self._server: asyncio.Server | None = None
        self._ends: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._hanging: set[asyncio.StreamWriter] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        self.cut()
        if self._tasks:
            await asyncio.wait(self._tasks)

    @property
    def open_connections(self) -> int:
        """How many there are now."""
        return len(self._ends) // 2

    def cut(self) -> int:
        """Reset every connection; how many there were."""
        ends, self._ends = self._ends, set()
        for end in ends:
            end.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            end.transport.abort()
        for task in self._tasks:
            task.cancel()
        return len(ends) // 2

    def hang(self) -> int:
        """Pass nothing on any more over what is connected now, and say nothing of it; how many connections hang."""
        fresh = self._ends - self._hanging
        self._hanging |= fresh
        return len(fresh) // 2

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            await self._join(reader, writer)
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            writer.transport.abort()
        finally:
            self._ends.discard(writer)
            self._tasks.discard(task)

    async def _join(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        server_reader, server_writer = await asyncio.open_connection("127.0.0.1", self._server_port)
        self.connections += 1
        self._ends |= {writer, server_writer}
        there, back = self.pumps()
        try:
            async with asyncio.TaskGroup() as pumps:
                pumps.create_task(self._pumped(there, reader, server_writer))
                pumps.create_task(self._pumped(back, server_reader, writer))
        except* (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            self._ends.discard(server_writer)
            server_writer.transport.abort()
            writer.transport.abort()

    def pumps(self) -> tuple[Pump, Pump]:
        """What moves the bytes of a new connection, to the server and back."""
        return self._pass_on, self._pass_on

    async def _pumped(self, pump: Pump, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await pump(reader, writer)
        # One side is over, and so is the other.
        raise ConnectionError("over")

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while chunk := await reader.read(CHUNK):
            await self.forward(writer, chunk)

    async def forward(self, writer: asyncio.StreamWriter, data: bytes) -> None:
        """Let something through, unless it hangs."""
        if writer not in self._hanging:
            writer.write(data)
            await writer.drain()

    def forward_later(self, delay: float, writer: asyncio.StreamWriter, data: bytes) -> None:
        """Let something through after others."""

        def late() -> None:
            if not writer.transport.is_closing() and writer not in self._hanging:
                writer.write(data)

        asyncio.get_running_loop().call_later(delay, late)
