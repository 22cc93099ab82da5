"""Work of the leader beside its passes: neither a slow sink nor a slow webhook delays a step."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from stepward.errors import CommitUnknown, StoreUnavailable
from stepward.events import Observers


class Beside:
    """Runs some works as asyncio tasks, each one at a time: a slow one holds up no other."""

    def __init__(self, works: Sequence[Callable[[], Awaitable[object]]], observers: Observers, actor: str) -> None:
        self._works = works
        self._observers = observers
        self._actor = actor
        self._running: dict[int, asyncio.Task[None]] = {}
        """By the place of the work."""

    def begin(self) -> int:
        """Begin each work unless it is under way; 0, as nothing of it is done yet."""
        for place, work in enumerate(self._works):
            running = self._running.get(place)
            if running is None or running.done():
                self._running[place] = asyncio.create_task(self._run(work))
        return 0

    async def close(self) -> None:
        """Stop them; another leader, or the next start, continues."""
        for running in self._running.values():
            running.cancel()
        await asyncio.gather(*self._running.values(), return_exceptions=True)

    async def _run(self, work: Callable[[], Awaitable[object]]) -> None:
        try:
            await work()
        except (StoreUnavailable, CommitUnknown) as error:
            self._observers.emit("store.unavailable", actor=self._actor, error=str(error))
