"""Waiting for a change of the store: a hint is polled often, with a slow poll of the store behind it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from stepward.errors import StoreError

HINT_SECONDS = 0.02


class Wakeups:
    """Wakes calls that wait for a change of the store, after ``poll`` seconds at the latest.

    While calls wait, ``hint`` is asked 50 times a second, once for all of them, whether something changed.
    """

    def __init__(self, poll: float, hint: Callable[[], bool] | None) -> None:
        self.rung = 0
        """Incremented at each ring, so that none is missed between a look and the wait."""
        self._poll = poll
        self._hint = hint
        self._waiters: dict[asyncio.Future[bool], None] = {}
        """In order of arrival, which is the order of waking."""
        self._timer: asyncio.TimerHandle | None = None
        self._polling: asyncio.TimerHandle | None = None
        """Shared by all waiting calls, so that one query serves them all."""

    def ring(self) -> None:
        """Wake all waiting calls."""
        self.rung += 1
        self._wake(is_ring=True)

    async def heard(self, rung: int) -> bool:
        """Wait for a ring after the ``rung``-th; False if there was none for ``poll`` seconds, or less."""
        if self.rung != rung:
            return True
        loop = asyncio.get_running_loop()
        waiter: asyncio.Future[bool] = loop.create_future()
        self._waiters[waiter] = None
        if self._polling is None:
            self._polling = loop.call_later(self._poll, self._poll_is_due)
        self._listen(loop)
        try:
            return await waiter
        finally:
            self._waiters.pop(waiter, None)
            if not self._waiters:
                self._rest()

    def _poll_is_due(self) -> None:
        self._polling = None
        self._wake(is_ring=False)

    def _wake(self, *, is_ring: bool) -> None:
        waiters, self._waiters = self._waiters, {}
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(is_ring)

    def _rest(self) -> None:
        for timer in (self._timer, self._polling):
            if timer is not None:
                timer.cancel()
        self._timer = self._polling = None

    def _listen(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._hint is not None and self._timer is None:
            self._timer = loop.call_later(HINT_SECONDS, self._ask, loop, self._hint)

    def _ask(self, loop: asyncio.AbstractEventLoop, hint: Callable[[], bool]) -> None:
        self._timer = None
        try:
            changed = hint()
        except StoreError:
            # The caller's next read of the store raises the error.
            changed = False
        if changed:
            self.ring()
        elif self._waiters:
            self._listen(loop)
