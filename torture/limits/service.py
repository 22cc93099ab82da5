"""The service that is called: it counts how many calls run at once, and knows nothing of Stepward.

A call runs from the moment at which its request is read until the service answers, or finds that the connection is
gone: a caller that was killed no longer runs its call.
"""

from __future__ import annotations

import asyncio
import random
from contextlib import suppress

LONGEST_WORK = 1.2
"""Seconds that a call takes at most."""


class CountingService:
    """Answers each call after half of ``longest`` seconds or more; ``limit`` is how many calls may run at once."""

    def __init__(self, limit: int, seed: int, longest: float = LONGEST_WORK) -> None:
        self.limit = limit
        self.running = 0
        self.most = 0
        """The most calls that ran at once."""
        self.calls = 0
        self.lost = 0
        """Calls whose caller was gone before the answer."""
        self.violations: list[str] = []
        self.full_seconds = 0.0
        """Seconds in which as many calls ran as may."""
        self._full_since: float | None = None
        self._longest = longest
        self._chance = random.Random(seed)
        self._server: asyncio.Server | None = None

    async def start(self) -> int:
        """Listen on loopback; the port."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    async def stop(self) -> None:
        """Answer no further call."""
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with suppress(ConnectionError):
                await self._answer(reader, writer)
        finally:
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        key = (await reader.readline()).decode().strip()
        if not key:
            return
        self._count(1)
        gone = asyncio.ensure_future(reader.read(1))
        try:
            self.calls += 1
            # The end of another connection may be in the same iteration of the loop: it is read first.
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            if self.running > self.limit:
                self.violations.append(f"{self.running} calls run at once, the last one {key}")
            self.most = max(self.most, self.running)
            done, _ = await asyncio.wait([gone], timeout=self._longest * (1 + self._chance.random()) / 2)
            self.lost += bool(done)
        finally:
            self._count(-1)
            gone.cancel()
        writer.write(b"done\n")
        await writer.drain()

    def _count(self, change: int) -> None:
        now = asyncio.get_running_loop().time()
        if self._full_since is not None:
            self.full_seconds += now - self._full_since
        self.running += change
        self._full_since = now if self.running >= self.limit else None
