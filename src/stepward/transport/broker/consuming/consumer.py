"""One queue of a broker as this process consumes it: messages are waited for, taken and settled."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Generic, Protocol, TypeVar

from stepward.errors import TransportError
from stepward.events import Observers
from stepward.model.messages.requests import Request
from stepward.runtime.cancelling import heed_cancellation
from stepward.transport.broker.consuming.giving_back import GivingBack, Put
from stepward.transport.broker.consuming.revoked_requests import RevokedRequests
from stepward.transport.broker.consuming.spoilt_messages import SpoiltMessages
from stepward.transport.broker.consuming.unacked import Handle, Unacked
from stepward.transport.broker.dead_letters import Bury
from stepward.transport.broker.rejections import Rejections
from stepward.transport.contract import Delivery
from stepward.transport.wire.encoding import Wire

Handle_contra = TypeVar("Handle_contra", contravariant=True)


class Source(Protocol[Handle_contra]):
    """A broker's part in one queue. All methods raise TransportError."""

    async def ask(self, limit: int, lease: float) -> float:
        """Ensure that up to ``limit`` messages arrive; the seconds after which to ask again."""
        ...

    async def acknowledge(self, handles: Sequence[Handle_contra]) -> None:
        """Acknowledge these broker messages."""
        ...

    async def extend(self, handles: Sequence[Handle_contra], lease: float) -> None:
        """Extend the leases of these by ``lease`` seconds from now."""
        ...

    async def rest(self) -> None:
        """Request no messages before the next ``ask``: there is no room here."""
        ...

    async def refuse(self, handles: Sequence[Handle_contra]) -> None:
        """Return these to the broker at once."""
        ...

    async def leave(self) -> None:
        """Stop; every message that was on its way has arrived when this returns."""
        ...


class Consumer(Generic[Handle]):
    """The unsettled messages of one queue; ``now`` is the store's clock."""

    def __init__(
        self,
        queue: str,
        source: Callable[[Consumer[Handle]], Source[Handle]],
        *,
        wire: Wire,
        now: Callable[[], float],
        observers: Observers,
        put: Put,
        bury: Bury,
        rejections: Rejections,
        is_revoked: Callable[[Request], bool] = lambda _: False,
    ) -> None:
        self._queue = queue
        self._source = source(self)
        self._rejections = rejections
        self._wire = wire
        self._now = now
        self._observers = observers
        self._boxes: Unacked[Handle] = Unacked(is_revoked)
        acknowledge = self._acknowledge
        self._giving_back = GivingBack(
            queue,
            self._boxes,
            put,
            now=now,
            rest=self._source.rest,
            acknowledge=acknowledge,
            spawn=self._spawn,
            stir=self.stir,
        )
        self._revoked = RevokedRequests(queue, self._boxes, put, acknowledge=acknowledge, observers=observers)
        self._spoilt = SpoiltMessages(queue, self._boxes, bury, acknowledge=acknowledge, observers=observers)
        self._waiters: set[asyncio.Future[None]] = set()
        self._stirs = 0
        """Incremented at each arrival, so that none is missed between a look and the wait."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._closed = False
        self._is_empty = False
        """Closed, and all messages are returned."""

    async def take(self, limit: int, lease: float) -> list[Delivery]:
        """Wait for messages and take from 1 to ``limit``."""
        while True:
            found = self._boxes.take(limit, self._now())
            self._let_go()
            if found:
                return found
            if self._closed:
                raise TransportError(f"queue {self._queue}: expected an open transport, found it closed; open another")
            stirs = self._stirs
            seconds = await self._source.ask(limit, lease)
            heed_cancellation()
            if self._stirs == stirs:
                await self._stirred(seconds)

    def arrived(self, ident: str, handle: Handle, body: bytes, leased_until: float, *, again: bool) -> None:
        """Add a message of the broker; ``again`` if it was delivered before."""
        if self._is_empty:
            return
        if self._boxes.knows(ident):
            self._boxes.again(ident, handle, leased_until)
        else:
            self._open(ident, handle, body, leased_until, again)
        self._let_go()
        self.stir()
        self._giving_back.be_patient()

    async def settle(self, tokens: Sequence[int]) -> None:
        """Acknowledge these messages."""
        self._boxes.settle(tokens)
        await self._acknowledge()

    async def extend(self, tokens: Sequence[int], lease: float) -> None:
        """Extend the leases of these."""
        handles = self._boxes.extend(tokens, self._now() + lease)
        if handles:
            await self._source.extend(handles, lease)

    async def refuse_lapsed(self) -> None:
        """Return messages whose leases are over, for brokers without leases."""
        if handles := self._boxes.lapsed(self._now()):
            await self._source.refuse(handles)

    def prune(self) -> None:
        """Forget messages that the broker has given to another process."""
        self._boxes.prune(self._now())

    def forget(self) -> None:
        """Forget all messages: the broker gives them to others."""
        self._boxes.clear()

    def stir(self) -> None:
        """Wake all waiting calls."""
        self._stirs += 1
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)

    async def close(self) -> None:
        """End running work, and return the messages that were not taken."""
        self._closed = True
        self._giving_back.close()
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        self.stir()
        with contextlib.suppress(TransportError):
            await self._source.leave()
        self._is_empty = True
        if untouched := self._boxes.clear():
            with contextlib.suppress(TransportError):
                await self._source.refuse(untouched)

    def _open(self, ident: str, handle: Handle, body: bytes, leased_until: float, again: bool) -> None:
        messages, spoilt, rejected = self._wire.decode(body)
        for rejection in rejected:
            self._rejections.reject(self._queue, rejection)
        box = self._boxes.add(ident, handle, leased_until, messages, is_spoilt=bool(spoilt), is_returned=again)
        if spoilt:
            self._spawn(partial(self._spoilt.bury, box, spoilt))
        if again and len(messages) > 1:
            # A returned message may have crashed its last consumer: it is taken alone.
            self._giving_back.return_apart()

    def _let_go(self) -> None:
        if self._boxes.revoked:
            self._spawn(self._revoked.answer)
        if self._boxes.expired:
            self._observers.emit("transport.expired", queue=self._queue, requests=self._boxes.expired)
            self._boxes.expired = 0
        if self._boxes.done:
            self._spawn(self._acknowledge)

    async def _acknowledge(self) -> None:
        done, self._boxes.done = self._boxes.done, []
        if done:
            await self._source.acknowledge(done)

    def _spawn(self, work: Callable[[], Awaitable[None]]) -> None:
        task = asyncio.get_running_loop().create_task(self._reporting(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _reporting(self, work: Callable[[], Awaitable[None]]) -> None:
        try:
            await work()
        except TransportError as error:
            # A message that is not acknowledged comes again.
            self._observers.emit("transport.failed", queue=self._queue, error=str(error))

    async def _stirred(self, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        waiter: asyncio.Future[None] = loop.create_future()
        self._waiters.add(waiter)
        timer = loop.call_later(seconds, _settle, waiter)
        try:
            await waiter
        finally:
            timer.cancel()
            self._waiters.discard(waiter)


def _settle(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)
