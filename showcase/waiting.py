"""Waiting for what the store or a service comes to hold, looked at again and again; what is awaited has a name.

While the store is away nothing is found in it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TypeVar

from stepward import StoreError

T = TypeVar("T")

EACH_SECONDS = 0.05


class Waits:
    """What the demo waits for just now, so that one that hangs can say for what."""

    def __init__(self) -> None:
        self._awaited: list[str] = []
        self._given_up: list[str] = []

    @property
    def given_up(self) -> list[str]:
        """The names of the waits that were open when the first one timed out."""
        return self._given_up

    @contextmanager
    def named(self, what: str) -> Iterator[None]:
        """Names the wait inside the block."""
        self._awaited.append(what)
        try:
            yield
        except asyncio.CancelledError:
            self._given_up = self._given_up or list(self._awaited)
            raise
        finally:
            self._awaited.remove(what)

    async def until(self, what: str, look: Callable[[], Awaitable[T]]) -> T:
        """What `look` finds, once it finds something: asked now, and again and again."""
        with self.named(what):
            while True:
                with suppress(StoreError):
                    if found := await look():
                        return found
                await asyncio.sleep(EACH_SECONDS)
