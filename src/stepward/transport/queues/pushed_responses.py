"""A private response queue whose broker sends messages by itself, as its reader reads it."""

from __future__ import annotations

import asyncio
import contextlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Generic, TypeVar

from stepward.errors import TransportError
from stepward.runtime.cancelling import heed_cancellation
from stepward.transport.queues.contract import QueuedMessage
from stepward.transport.queues.response_log import ResponseLog

Receipt = TypeVar("Receipt")
"""The broker's handle for acknowledging a message."""
LOOK_SECONDS = 1.0
"""Seconds between two checks that the channel or link still stands."""
MOST_HELD = 500
"""Most unsettled broker messages that a reader receives."""


class PushedResponses(ABC, Generic[Receipt]):
    """Implements ``ResponseQueue`` over a channel or link of its own: with it, unsettled messages return.

    ``watches``: it is a view for an observer, who settles nothing.
    """

    def __init__(self, queue: str, *, watches: bool) -> None:
        self._queue = queue
        self._watches = watches
        self._ledger: ResponseLog[Receipt] = ResponseLog()
        self._stirred = asyncio.Event()
        self._reading = asyncio.Lock()

    async def read(self, after: int, limit: int) -> Sequence[QueuedMessage]:
        async with self._reading:
            if after == 0:
                await self._leave()
                self._ledger.clear()
            if self._watches:
                with contextlib.suppress(TransportError):  # Messages of a lost connection come again over the next one.
                    await self._pass_over(self._ledger.pass_over(after))
            while True:
                self._stirred.clear()
                if found := self._ledger.follows(after, limit):
                    return found
                await self._consume()
                heed_cancellation()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(LOOK_SECONDS):
                        await self._stirred.wait()

    def given(self, token: int) -> QueuedMessage | None:
        return self._ledger.given(token)

    async def settle(self, tokens: Sequence[int]) -> None:
        """A lost acknowledgement lets the events come again."""
        await self._acknowledge(self._ledger.settle(tokens))

    async def close(self) -> None:
        await self._leave()

    def _add(self, ident: str, handle: Receipt, body: bytes) -> None:
        """Add a message that arrived, and wake the reader."""
        self._ledger.add(ident, handle, body)
        self._stirred.set()

    @abstractmethod
    async def _consume(self) -> None:
        """Ensure that messages arrive: opens the channel or link unless it stands. Raises TransportError."""

    @abstractmethod
    async def _acknowledge(self, handles: Sequence[Receipt]) -> None:
        """Acknowledge messages. Raises TransportError."""

    @abstractmethod
    async def _pass_over(self, handles: Sequence[Receipt]) -> None:
        """Drop messages that an observer has seen. Raises TransportError."""

    @abstractmethod
    async def _leave(self) -> None:
        """Close the channel or link, so that unsettled messages return."""
