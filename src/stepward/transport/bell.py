"""Waiting for a store to change: a hint is asked often, a slow poll stands behind."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from stepward.errors import StoreError

HINT_SECONDS = 0.02


class Bell:
    """Wakes those who wait for the store to change; nobody waits longer than ``poll`` seconds.

    While anybody waits, ``hint`` is asked 50 times a second whether something changed, once for them all.
    """

    def __init__(self, poll: float, hint: Callable[[], bool] | None) -> None:
        self.rung = 0
        """Counts the rings, so that none between a look and the wait is missed."""
        self._poll = poll
        self._hint = hint
        self._waiters: dict[asyncio.Future[None], None] = {}
        """In the order in which they came, which is the order in which they are woken."""
        self._timer: asyncio.TimerHandle | None = None

    def ring(self) -> None:
        """Wake everyone."""
        self.rung += 1
        waiters, self._waiters = self._waiters, {}
        for waiter in waiters:
            _settle(waiter)

    async def heard(self, rung: int) -> None:
        """Wait for a ring after the ``rung``-th, or for ``poll`` seconds."""
        if self.rung != rung:
            return
        loop = asyncio.get_running_loop()
        waiter: asyncio.Future[None] = loop.create_future()
        self._waiters[waiter] = None
        timer = loop.call_later(self._poll, _settle, waiter)
        self._listen(loop)
        try:
            await waiter
        finally:
            timer.cancel()
            self._waiters.pop(waiter, None)
            if not self._waiters and self._timer is not None:
                self._timer.cancel()
                self._timer = None

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


def _settle(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)
