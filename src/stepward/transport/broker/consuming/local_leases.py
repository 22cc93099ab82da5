"""One queue of a broker without leases, as this process receives from it: it returns what it held too long itself."""

from __future__ import annotations

import asyncio
import contextlib
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Generic

from stepward.errors import TransportError
from stepward.transport.broker.consuming.consumer import Consumer
from stepward.transport.broker.consuming.unacked import Handle

LOOK_SECONDS = 5.0
"""Seconds after which a caller that waits asks again."""
LOOKS_PER_LEASE = 4
"""Looks within a lease for messages that were held too long."""


class LocalLeases(ABC, Generic[Handle]):
    """The part of a ``Source`` that such brokers share: feeds an intake while a caller waits.

    Messages of a silent process return with the loss of its connection.
    """

    def __init__(self, queue: str, intake: Consumer[Handle], now: Callable[[], float]) -> None:
        self._queue = queue
        self._intake = intake
        self._now = now
        self._lease = 0.0
        self._asking = asyncio.Lock()
        self._looking: asyncio.Task[None] | None = None

    async def ask(self, limit: int, lease: float) -> float:
        async with self._asking:
            self._lease = max(lease, self._lease)
            seconds = await self._request(limit)
        if self._looking is None:
            self._looking = asyncio.get_running_loop().create_task(self._look())
        return seconds

    async def rest(self) -> None:
        async with self._asking:
            await self._pause()

    async def leave(self) -> None:
        """Return everything that was taken, and stop receiving."""
        if self._looking is not None:
            self._looking.cancel()
            self._looking = None
        async with self._asking:
            await self._stop()

    @abstractmethod
    async def _request(self, limit: int) -> float:
        """As ``Source.ask``: lets the broker send up to ``limit`` further messages."""

    @abstractmethod
    async def _pause(self) -> None:
        """Have the broker send no more for now."""

    @abstractmethod
    async def _stop(self) -> None:
        """Close the channel or link, so that unsettled messages return."""

    def _arrived(self, ident: str, handle: Handle, body: bytes, *, again: bool) -> None:
        """Hand over a message of the broker, leased from now on."""
        self._intake.arrived(ident, handle, body, self._now() + self._lease, again=again)

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(self._lease / LOOKS_PER_LEASE)
            with contextlib.suppress(TransportError):
                await self._intake.refuse_lapsed()
            self._intake.prune()
