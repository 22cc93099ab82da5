"""The connections of an application to its broker, passed on byte for byte, so that all of them can be cut."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from servers.ports import free_port

MOST_BYTES = 64 * 1024
"""Most bytes that are passed on at once."""


class ConnectionRelay:
    """Listens on a port of its own, and connects each client to the broker's port."""

    def __init__(self, target: int) -> None:
        self.port = free_port()
        self._target = target
        self._server: asyncio.Server | None = None
        self._passing: set[asyncio.Future[None]] = set()
        self._brokers: dict[asyncio.StreamWriter, asyncio.StreamWriter] = {}
        """By client, its connection to the broker."""
        self._withheld: set[asyncio.StreamWriter] = set()
        """The clients that get nothing of the broker any more."""
        self._lost: set[asyncio.StreamWriter] = set()

    async def start(self) -> None:
        """Listen."""
        self._server = await asyncio.start_server(self._connect, "127.0.0.1", self.port)

    def cut(self) -> int:
        """End every connection without a word; how many there were."""
        for writer in (*self._brokers, *self._brokers.values()):
            writer.transport.abort()
        return len(self._brokers)

    def withhold(self) -> None:
        """Pass nothing on of what the broker sends over the connections that there are."""
        self._withheld |= self._brokers.keys()

    def lose(self) -> int:
        """End every connection on the client's side alone, as where a host is lost; how many there were.

        The broker takes the clients for alive until ``end_lost``, or until they are silent for too long.
        """
        found = self._brokers.keys() - self._lost
        self._lost |= found
        for client in found:
            client.transport.abort()
        return len(found)

    def end_lost(self) -> None:
        """Let the broker notice the ends of the connections that were lost."""
        for client in self._lost:
            self._brokers[client].transport.abort()

    async def close(self) -> None:
        """Listen no more, and end every connection."""
        if self._server is not None:
            self._server.close()
        self.cut()
        await asyncio.gather(*self._passing, return_exceptions=True)

    async def _connect(self, reader: asyncio.StreamReader, client: asyncio.StreamWriter) -> None:
        try:
            theirs, broker = await asyncio.open_connection("127.0.0.1", self._target)
        except OSError:  # The broker is down: so is its port.
            client.transport.abort()
            return
        self._brokers[client] = broker
        up = asyncio.create_task(self._pass_up(reader, client, broker))
        down = asyncio.create_task(self._pass_down(theirs, client))
        self._passing |= {up, down}
        try:
            await asyncio.wait({down})
        finally:
            up.cancel()
            self._passing -= {up, down}
            client.close()
            broker.close()
            del self._brokers[client]
            self._withheld.discard(client)
            self._lost.discard(client)

    async def _pass_up(
        self, reader: asyncio.StreamReader, client: asyncio.StreamWriter, broker: asyncio.StreamWriter
    ) -> None:
        with suppress(OSError):
            while data := await reader.read(MOST_BYTES):
                broker.write(data)
                await broker.drain()
        if client not in self._lost:
            broker.close()

    async def _pass_down(self, reader: asyncio.StreamReader, client: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(MOST_BYTES):
                if client not in self._withheld and not client.is_closing():
                    client.write(data)
                    await client.drain()
