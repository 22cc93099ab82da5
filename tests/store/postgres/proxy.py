"""A way to a server that can be held up in either direction, or cut, as networks are."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

CHUNK = 65536
BIND_COMPLETE = b"2"
"""What the answer to an executed statement begins with."""


class Proxy:
    """Passes bytes on to one port while its ways are open; what is held up is passed on later, if it is not cut."""

    def __init__(self, target: int) -> None:
        self.target = target
        self.port = 0
        self.questions = asyncio.Event()
        self.answers = asyncio.Event()
        self.outcomes = asyncio.Event()
        """The way of answers that begin with the outcome of a statement: those to its preparation pass."""
        self._served: dict[asyncio.Task[None], list[asyncio.StreamWriter]] = {}
        self._is_stopped = False
        self.open()

    def open(self) -> None:
        """Pass everything on."""
        self.questions.set()
        self.answers.set()
        self.outcomes.set()

    def swallow(self) -> None:
        """Accepts connections and bytes, and passes nothing on."""
        self.questions.clear()
        self.answers.clear()

    def cut(self) -> None:
        """Break all connections; what was held up never arrives."""
        for writers in self._served.values():
            for writer in writers:
                writer.transport.abort()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        if self._is_stopped:
            # Accepted just before the listener closed.
            writer.transport.abort()
            return
        writers = self._served[task] = [writer]
        try:
            # Without this the caller would report a cancellation as an error.
            with contextlib.suppress(ConnectionError, asyncio.CancelledError):
                await self.questions.wait()
                there, back = await asyncio.open_connection("127.0.0.1", self.target)
                writers.append(back)
                await asyncio.gather(_pass(reader, back, self._asked), _pass(there, writer, self._answered))
        finally:
            for each in writers:
                each.transport.abort()
            del self._served[task]

    async def _asked(self, data: bytes) -> None:
        await self.questions.wait()

    async def _answered(self, data: bytes) -> None:
        if data.startswith(BIND_COMPLETE):
            await self.outcomes.wait()
        await self.answers.wait()

    async def stop(self) -> None:
        self._is_stopped = True
        for task in list(self._served):
            task.cancel()
        await asyncio.gather(*self._served, return_exceptions=True)


@asynccontextmanager
async def proxy(target: int) -> AsyncIterator[Proxy]:
    """A proxy in front of the server at that port."""
    made = Proxy(target)
    listener = await asyncio.start_server(made.serve, "127.0.0.1", 0)
    made.port = listener.sockets[0].getsockname()[1]
    try:
        yield made
    finally:
        listener.close()
        await made.stop()


async def _pass(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, let: Callable[[bytes], Awaitable[None]]
) -> None:
    while data := await reader.read(CHUNK):
        await let(data)
        writer.write(data)
    writer.transport.abort()
