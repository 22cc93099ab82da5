"""Waiting for a change of the store: a hint is polled often, with a slow poll of the store behind it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from stepward.errors import StoreError
from stepward.model.messages.change_kinds import EVERYTHING, QUEUES, Kinds

HINT_SECONDS = 0.02


class Wakeups:
    """Wakes calls that wait for a change of the store, after ``poll`` seconds at the latest.

    While calls wait, ``hint`` is asked 50 times a second, once for all of them, whether something changed.
    """

    def __init__(self, poll: float, hint: Callable[[], bool] | None) -> None:
        self._rung = dict.fromkeys(QUEUES, 0)
        """By kind, incremented at each ring, so that none is missed between a look and the wait."""
        self._poll = poll
        self._hint = hint
        self._waiters: dict[asyncio.Future[bool], Kinds] = {}
        """In order of arrival, which is the order of waking."""
        self._timer: asyncio.TimerHandle | None = None
        self._polling: asyncio.TimerHandle | None = None
        """Shared by all waiting calls, so that one query serves them all."""

    def ring(self, kinds: Kinds = EVERYTHING) -> None:
        """Wake all calls that wait for messages of these kinds."""
        for kind in QUEUES:
            if kind & kinds:
                self._rung[kind] += 1
        self._wake(kinds, is_ring=True)

    def rung(self, kind: Kinds) -> int:
        """How often that kind was rung."""
        return self._rung[kind]

    async def heard(self, kind: Kinds, rung: int) -> bool:
        """Wait for a ring of the kind after the ``rung``-th; False if there was none for ``poll`` seconds, or less."""
        if self._rung[kind] != rung:
            return True
        loop = asyncio.get_running_loop()
        waiter: asyncio.Future[bool] = loop.create_future()
        self._waiters[waiter] = kind
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
        self._wake(EVERYTHING, is_ring=False)

    def _wake(self, kinds: Kinds, *, is_ring: bool) -> None:
        for waiter, kind in self._waiters.items():
            if kind & kinds and not waiter.done():
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
