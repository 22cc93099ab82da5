"""The pace of a process's Supervisor: its regular passes, and earlier ones after a failed attempt."""

from __future__ import annotations

import asyncio

from stepward.clock import Clock

SHORTEST = 0.05
"""Shortest pause between two passes, in seconds."""
SHORTEST_ON_HINT = 0.25
"""Shortest pause between two passes after a change by another process, which may not concern the Supervisor."""


class SupervisorPace:
    """The pauses between passes; a pass that is asked for does not shift the regular ones."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._regular_at = float("-inf")
        self._asked = asyncio.Event()
        self._hinted = asyncio.Event()

    def ask(self) -> None:
        """Ask for a pass: an attempt of a step failed, and its backoff begins with the pass that decides."""
        self._asked.set()
        self._hinted.set()

    def hint(self) -> None:
        """Ask for a pass soon: another process changed the store, and an attempt may have failed there."""
        self._hinted.set()

    async def pause(self, delay: float) -> None:
        """Wait until the next regular pass, ``delay`` seconds after the last, or less if a pass is asked for."""
        now = self._clock.boot()
        if now >= self._regular_at or now + delay < self._regular_at:
            self._regular_at = now + delay
        left = self._regular_at - now
        await asyncio.sleep(min(left, SHORTEST))
        is_asked = await _set_within(self._asked, min(left, SHORTEST_ON_HINT) - SHORTEST)
        if not is_asked:
            await _set_within(self._hinted, left - SHORTEST_ON_HINT)
        self._asked.clear()
        self._hinted.clear()


async def _set_within(event: asyncio.Event, seconds: float) -> bool:
    if seconds <= 0:
        return event.is_set()
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return False
    return True
