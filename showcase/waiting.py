"""Waiting: for what the store comes to hold, looked at when it changes; what is awaited has a name.

While the store is away nothing is found in it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TypeVar

from stepward.errors import StoreError
from stepward.events import Hints

T = TypeVar("T")

EACH_SECONDS = 0.1


class Waits:
    """What the demo waits for just now, so that one that hangs can say for what."""

    def __init__(self, hints: Hints) -> None:
        self._hints = hints
        self._awaited: list[str] = []
        self._given_up: list[str] = []

    @property
    def given_up(self) -> list[str]:
        """What was awaited when the first wait was given up."""
        return self._given_up

    @contextmanager
    def named(self, what: str) -> Iterator[None]:
        """What is awaited inside."""
        self._awaited.append(what)
        try:
            yield
        except asyncio.CancelledError:
            self._given_up = self._given_up or list(self._awaited)
            raise
        finally:
            self._awaited.remove(what)

    async def soon(self, what: str, look: Callable[[], Awaitable[bool]]) -> None:
        """Return once `look` says so: for what no change of the store announces, so it is asked again and again."""
        with self.named(what):
            while True:
                with suppress(StoreError):
                    if await look():
                        return
                await asyncio.sleep(EACH_SECONDS)

    async def until(self, what: str, look: Callable[[], Awaitable[T]]) -> T:
        """What `look` finds, once it finds something: asked now, and after each change of the store."""
        changed = asyncio.Event()
        self._hints.listen(changed.set)
        try:
            with self.named(what):
                while True:
                    try:
                        if found := await look():
                            return found
                        await changed.wait()
                    except StoreError:
                        await asyncio.sleep(EACH_SECONDS)
                    changed.clear()
        finally:
            self._hints.unlisten(changed.set)
