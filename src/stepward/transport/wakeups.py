"""Waiting for a store to change: a hint is asked often, a slow poll stands behind."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from stepward.errors import StoreError

HINT_SECONDS = 0.02


class Wakeups:
    """Wakes those who wait for the store to change; nobody waits longer than ``poll`` seconds.

    While anybody waits, ``hint`` is asked 50 times a second whether something changed, once for them all.
    """

    def __init__(self, poll: float, hint: Callable[[], bool] | None) -> None:
        self.rung = 0
        """Counts the rings, so that none between a look and the wait is missed."""
        self._poll = poll
        self._hint = hint
        self._waiters: dict[asyncio.Future[bool], None] = {}
        """In the order in which they came, which is the order in which they are woken."""
        self._timer: asyncio.TimerHandle | None = None
        self._polling: asyncio.TimerHandle | None = None
        """One for all who wait, so that they can ask together."""

    def ring(self) -> None:
        """Wake everyone."""
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
            # The next look at the store tells its caller what is wrong.
            changed = False
        if changed:
            self.ring()
        elif self._waiters:
            self._listen(loop)
