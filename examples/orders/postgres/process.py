"""The pair of servers as a process, for the shop, the demo and the tests."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec

from examples.orders.postgres.standing import DATABASE, Standing
from examples.orders.processes.process import READY_SECONDS, Process, ProcessDied, Upkeep
from servers.ports import free_port

USER = "postgres"


class PairProcess(Process):
    """A primary and its synchronous standby, on free ports; `on_change` is told how they stand whenever that changes.

    Its process is never started again: another would begin with an empty database.
    """

    def __init__(self, *, upkeep: Upkeep, on_change: Callable[[Standing], None] = lambda _standing: None) -> None:
        self.ports = (free_port(), free_port())
        self._standing: Standing | None = None
        self._on_change = on_change
        self._changed = asyncio.Condition()
        super().__init__("postgres", "examples.orders.postgres", "--ports", *map(str, self.ports), upkeep=upkeep)

    @property
    def address(self) -> str:
        """The address of the shop's database: both hosts, of which the primary is whoever it is just then."""
        hosts = ",".join(f"127.0.0.1:{port}" for port in self.ports)
        return f"postgresql://{USER}@{hosts}/{DATABASE}"

    @property
    def standing(self) -> Standing:
        """How they stand."""
        if self._standing is None:
            raise RuntimeError(f"{self.name} was never started: call start() first")
        return self._standing

    async def start(self) -> None:
        """See Process; ready once both servers are."""
        await super().start()
        beginning, ending = asyncio.create_task(self.whole()), asyncio.create_task(self.exited())
        try:
            await asyncio.wait((beginning, ending), timeout=READY_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        finally:
            beginning.cancel()
            ending.cancel()
        if self._standing is None:
            raise ProcessDied(f"{self.name}: expected two servers within {READY_SECONDS} s{self.last_words()}")

    async def whole(self) -> Standing:
        """Wait until the primary has a standby."""
        return await self._until(lambda standing: standing.standby is not None)

    async def promoted(self, port: int) -> Standing:
        """Wait until another than the server on that port is the primary."""
        return await self._until(lambda standing: standing.primary.port != port)

    async def _until(self, holds: Callable[[Standing], bool]) -> Standing:
        async with self._changed:
            await self._changed.wait_for(lambda: self._standing is not None and holds(self._standing))
        return self.standing

    async def _hear(self, line: str) -> None:
        self._standing = msgspec.json.decode(line, type=Standing)
        self._on_change(self._standing)
        async with self._changed:
            self._changed.notify_all()
