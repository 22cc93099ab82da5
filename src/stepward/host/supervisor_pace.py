"""When the Supervisor of a process makes its next pass: after its pause, or sooner where an attempt has failed."""

from __future__ import annotations

import asyncio

from stepward.clock import Clock

SHORTEST = 0.05
"""Seconds at least between two passes."""
SHORTEST_ON_HINT = 0.25
"""Seconds at least between two passes, where it is only known that some other process changed the store."""


class SupervisorPace:
    """The pauses between the passes of a Supervisor; a pass that is asked for comes beside the regular ones."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._regular_at = float("-inf")
        self._asked = asyncio.Event()
        self._hinted = asyncio.Event()

    def ask(self) -> None:
        """An attempt of a step failed: its backoff begins with the pass that decides."""
        self._asked.set()
        self._hinted.set()

    def hint(self) -> None:
        """Another process changed the store: an attempt may have failed there."""
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
