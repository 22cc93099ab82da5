"""The gate at which every step of the shop stops: the test sees who stands there, and lets through whom it likes."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

PATIENCE = 120.0


class Arrival(NamedTuple):
    step: str
    what: str
    version: str
    pid: int
    key: str


class Gate:
    """A server on a socket in the file system; what it let through is what was done."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.standing: dict[asyncio.StreamWriter, Arrival] = {}
        self.arrived: list[Arrival] = []
        self.done: list[Arrival] = []
        self._passes: Callable[[Arrival], bool] = lambda _: False
        self._changed = asyncio.Condition()
        self._server: asyncio.Server | None = None

    async def start(self) -> None:
        self._server = await asyncio.start_unix_server(self._stop_at, self.path)

    async def close(self) -> None:
        assert self._server is not None
        self._server.close()
        for writer in list(self.standing):
            writer.close()
        await self.until(lambda: not self.standing)

    async def open(self, passes: Callable[[Arrival], bool] = lambda _: True) -> None:
        """Let through from now on whomever this says, and those who stand there already."""
        self._passes = passes
        for writer, arrival in list(self.standing.items()):
            self._consider(writer, arrival)
        await self._tell()

    async def until(self, look: Callable[[], bool]) -> None:
        """Wait, within bounds, until it looks so."""
        async with asyncio.timeout(PATIENCE), self._changed:
            await self._changed.wait_for(look)

    def pids(self) -> Counter[int]:
        """How many stand there, by process."""
        return Counter(arrival.pid for arrival in self.standing.values())

    def names(self, step: str) -> set[str]:
        """The orders for which that step was done."""
        return {arrival.what for arrival in self.done if arrival.step == step}

    def steps_of(self, what: str) -> list[tuple[str, str]]:
        """The effects of an order: step and version, in order, each key once."""
        effects = {arrival.key: arrival for arrival in reversed(self.done) if arrival.what == what}
        return [(arrival.step, arrival.version) for arrival in reversed(effects.values())]

    async def _stop_at(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if told := await reader.readline():
            self.standing[writer] = arrival = Arrival(**json.loads(told))
            self.arrived.append(arrival)
            self._consider(writer, arrival)
            await self._tell()
            await reader.read()  # until the process at the gate leaves
            self.standing.pop(writer, None)
        writer.close()
        await self._tell()

    def _consider(self, writer: asyncio.StreamWriter, arrival: Arrival) -> None:
        if self._passes(arrival) and not writer.is_closing():
            del self.standing[writer]
            self.done.append(arrival)
            writer.write(b"go\n")

    async def _tell(self) -> None:
        async with self._changed:
            self._changed.notify_all()
