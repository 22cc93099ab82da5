"""What a Scheduler sleeps on between two turns: an instant, or somebody who stirs it."""

from __future__ import annotations

import asyncio


class Wakeup:
    """One sleeper, woken at its time or earlier."""

    def __init__(self) -> None:
        self._waking: asyncio.Future[None] | None = None

    async def sleep(self, seconds: float) -> None:
        """Sleep that long, or until stirred; not at all gives way to others once."""
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        loop = asyncio.get_running_loop()
        self._waking = loop.create_future()
        timer = loop.call_later(seconds, self.stir)
        try:
            await self._waking
        finally:
            timer.cancel()
            self._waking = None

    def stir(self) -> None:
        """Wake the sleeper, if it sleeps."""
        if self._waking is not None and not self._waking.done():
            self._waking.set_result(None)
