"""A process that keeps servers and reports their state: a line of JSON at every change."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import ClassVar, Generic, TypeVar

import msgspec

from servers.keeper.process import Process, ProcessDied, Upkeep

S = TypeVar("S", bound=msgspec.Struct)


class TellingProcess(Process, Generic[S]):
    """Parses states of the given `kind`, and calls `on_change` with each."""

    whole_seconds: ClassVar[float] = 30.0
    """How long its servers may take to stand for the first time."""

    def __init__(
        self, name: str, module: str, *arguments: str, kind: type[S], upkeep: Upkeep, on_change: Callable[[S], None]
    ) -> None:
        super().__init__(name, module, *arguments, upkeep=upkeep)
        self._kind = kind
        self._standing: S | None = None
        self._on_change = on_change
        self._changed = asyncio.Condition()

    @property
    def standing(self) -> S:
        """The state of the servers."""
        if self._standing is None:
            raise RuntimeError(f"{self.name} was never started: call start() first")
        return self._standing

    async def start(self) -> None:
        """Start the process; ready once all its servers are. Raises ProcessDied."""
        await super().start()
        beginning, ending = asyncio.create_task(self.whole()), asyncio.create_task(self.exited())
        try:
            await asyncio.wait((beginning, ending), timeout=self.whole_seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            beginning.cancel()
            ending.cancel()
        if self._standing is None:
            raise ProcessDied(f"{self.name}: expected its servers within {self.whole_seconds:g} s{self.last_words()}")

    async def whole(self) -> S:
        """Wait until no server is missing."""
        return await self.until(self.is_whole)

    def is_whole(self, standing: S) -> bool:
        """Whether no server is missing."""
        raise NotImplementedError

    async def until(self, holds: Callable[[S], bool]) -> S:
        """Wait until they stand like that."""
        async with self._changed:
            await self._changed.wait_for(lambda: self._standing is not None and holds(self._standing))
        return self.standing

    async def _hear(self, line: str) -> None:
        self._standing = msgspec.json.decode(line, type=self._kind)
        self._on_change(self._standing)
        async with self._changed:
            self._changed.notify_all()
