"""Waiting until something that the kit observes has come about."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

Found = TypeVar("Found")


class Changes:
    """Wakes the waiting check at each observed message, call or end of a call."""

    def __init__(self) -> None:
        self._changed = asyncio.Event()

    def notify(self) -> None:
        """Let the waiting check look again."""
        self._changed.set()

    async def until(self, look: Callable[[], Found], seconds: float) -> Found:
        """What ``look`` returns once that is true, or at last after so many seconds."""
        try:
            async with asyncio.timeout(seconds):
                while not (found := look()):
                    self._changed.clear()
                    await self._changed.wait()
                return found
        except TimeoutError:
            return look()
