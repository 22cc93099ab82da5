"""Work of the leader beside its passes: neither a slow sink nor a slow webhook delays a step."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from stepward.errors import CommitUnknown, StoreUnavailable
from stepward.events import Observers


class Beside:
    """Runs some work as an asyncio task, one at a time."""

    def __init__(self, work: Callable[[], Awaitable[object]], observers: Observers, actor: str) -> None:
        self._work = work
        self._observers = observers
        self._actor = actor
        self._running: asyncio.Task[None] | None = None

    def begin(self) -> int:
        """Begin the work unless it is under way; 0, as nothing of it is done yet."""
        if self._running is None or self._running.done():
            self._running = asyncio.create_task(self._run())
        return 0

    async def close(self) -> None:
        """Stop it; another leader, or the next start, continues."""
        if self._running is not None:
            self._running.cancel()
            await asyncio.gather(self._running, return_exceptions=True)

    async def _run(self) -> None:
        try:
            await self._work()
        except (StoreUnavailable, CommitUnknown) as error:
            self._observers.emit("store.unavailable", actor=self._actor, error=str(error))
