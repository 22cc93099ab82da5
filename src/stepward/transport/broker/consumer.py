"""One queue of a broker as this process takes from it: waiting, giving out, giving back, burying."""

from __future__ import annotations

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Generic, Protocol, TypeVar

from stepward.errors import TransportError
from stepward.events import Observers
from stepward.model.messages.answers import never_began
from stepward.model.messages.requests import Request
from stepward.transport.broker.dead_letters import BrokerDeadLetter, Bury
from stepward.transport.broker.rejections import Rejections
from stepward.transport.broker.unacked import BrokerMessage, Handle, Unacked
from stepward.transport.contract import AgentMessage, Delivery
from stepward.transport.wire.wire import Wire

PATIENCE = 0.02
"""How long what came may wait for room here before somebody else is offered it.

Room that is there in a moment is worth the wait: a Scheduler hears of an end before the Agent's slot is free.
"""
REST_SECONDS = 1.0
"""After it could not be given back."""
SHOWN = 200
Told_contra = TypeVar("Told_contra", contravariant=True)

Put = Callable[[str, Sequence[AgentMessage], bool], Awaitable[None]]
"""Appends messages to a queue, and says whether somebody may have had them before."""


class Source(Protocol[Told_contra]):
    """What a broker does for one queue. All raise TransportError."""

    async def ask(self, limit: int, lease: float) -> float:
        """Ensures that up to ``limit`` messages come; the seconds after which to ask again."""
        ...

    async def acknowledge(self, handles: Sequence[Told_contra]) -> None:
        """These are dealt with and never return."""
        ...

    async def extend(self, handles: Sequence[Told_contra], lease: float) -> None:
        """Keep these for another ``lease`` seconds."""
        ...

    async def rest(self) -> None:
        """There is no room here for the moment: send nothing before somebody asks."""
        ...

    async def refuse(self, handles: Sequence[Told_contra]) -> None:
        """Somebody else may have these at once."""
        ...

    async def leave(self) -> None:
        """Let nothing more come; whatever was on its way has come when it returns."""
        ...


class Consumer(Generic[Handle]):
    """What came over one queue and is not settled; ``now`` is the store's clock."""

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
        self._put = put
        self._bury = bury
        self._rejections = rejections
        self._wire = wire
        self._now = now
        self._observers = observers
        self._boxes: Unacked[Handle] = Unacked(is_revoked)
        self._waiters: set[asyncio.Future[None]] = set()
        self._stirs = 0
        """So that none between a look and the wait is missed."""
        self._patience: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._closed = False
        self._is_empty = False
        """Closed, and everything is given back."""

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
            _heed_cancellation()
            if self._stirs == stirs:
                await self._stirred(seconds)

    def arrived(self, ident: str, handle: Handle, body: bytes, leased_until: float, *, again: bool) -> None:
        """The broker gave a message; ``again`` if it was given to somebody before."""
        if self._is_empty:
            return
        if self._boxes.knows(ident):
            self._boxes.again(ident, handle, leased_until)
        else:
            self._open(ident, handle, body, leased_until, again)
        self._let_go()
        self.stir()
        self._be_patient()

    async def settle(self, tokens: Sequence[int]) -> None:
        """These were dealt with."""
        self._boxes.settle(tokens)
        await self._acknowledge()

    async def extend(self, tokens: Sequence[int], lease: float) -> None:
        """Keep these."""
        handles = self._boxes.extend(tokens, self._now() + lease)
        if handles:
            await self._source.extend(handles, lease)

    async def refuse_lapsed(self) -> None:
        """For brokers without leases: what is held longer than leased goes to somebody else."""
        if handles := self._boxes.lapsed(self._now()):
            await self._source.refuse(handles)

    def prune(self) -> None:
        """Forget what somebody else has had long since."""
        self._boxes.prune(self._now())

    def forget(self) -> None:
        """Forget everything: it is somebody else's now."""
        self._boxes.clear()

    def stir(self) -> None:
        """Let everyone who waits look again."""
        self._stirs += 1
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)

    async def close(self) -> None:
        """End what is under way, and give back what nobody was given."""
        self._closed = True
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None
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
            self._spawn(partial(self._bury_spoilt, box, spoilt))
        if again and len(messages) > 1:
            # One of them may be what ended its last taker: it must not take its neighbours along again.
            self._spawn(partial(self._give_back, apart=True))

    def _be_patient(self, seconds: float = PATIENCE) -> None:
        if self._patience is None and len(self._boxes) and not self._closed:
            self._patience = asyncio.get_running_loop().call_later(seconds, self._lose_patience)

    def _lose_patience(self) -> None:
        self._patience = None
        if len(self._boxes):
            self._spawn(partial(self._give_back, apart=False))

    async def _give_back(self, *, apart: bool) -> None:
        back = self._boxes.take_back(self._now())
        if not back:
            return
        try:
            if not apart:
                await self._source.rest()
            for is_returned in (False, True):
                messages = [message for box, _, message in back if box.is_returned is is_returned]
                for together in [[message] for message in messages] if apart else [messages]:
                    await self._put(self._queue, together, is_returned)
        except TransportError:
            self._boxes.keep((box, place) for box, place, _ in back)
            self.stir()
            self._be_patient(REST_SECONDS)
            raise
        for box, place, _ in back:
            self._boxes.settle_place(box, place)
        await self._acknowledge()

    async def _bury_spoilt(self, box: BrokerMessage[Handle], spoilt: Sequence[BrokerDeadLetter]) -> None:
        for dead_letter in spoilt:
            start = dead_letter.body[:SHOWN].decode(errors="replace")
            self._observers.tell("transport.dead_letter", queue=self._queue, error=dead_letter.reason, start=start)
        try:
            await self._bury(self._queue, spoilt)
        except TransportError:
            # It comes again, and is then to be buried like one that was never here.
            self._boxes.forget(box)
            raise
        self._boxes.buried(box)
        await self._acknowledge()

    async def _answer_revoked(self) -> None:
        found, self._boxes.revoked = self._boxes.revoked, []
        answers = defaultdict[str, list[AgentMessage]](list)
        for box, place in found:
            request = box.unsettled.get(place)
            if not isinstance(request, Request):
                continue
            if box.is_returned:
                # Whoever had it may work on it still: nobody can say that it never began.
                self._observers.tell(
                    "transport.revoked_in_doubt", queue=self._queue, task=request.task, key=request.key
                )
            else:
                answers[request.reply_to].append(never_began(request))
        try:
            for queue, replies in answers.items():
                await self._put(queue, replies, False)
        except TransportError:
            self._boxes.keep(found)
            raise
        for box, place in found:
            self._boxes.settle_place(box, place)
        await self._acknowledge()

    def _let_go(self) -> None:
        if self._boxes.revoked:
            self._spawn(self._answer_revoked)
        if self._boxes.expired:
            self._observers.tell("transport.expired", queue=self._queue, requests=self._boxes.expired)
            self._boxes.expired = 0
        if self._boxes.done:
            self._spawn(self._acknowledge)

    async def _acknowledge(self) -> None:
        done, self._boxes.done = self._boxes.done, []
        if done:
            await self._source.acknowledge(done)

    def _spawn(self, work: Callable[[], Awaitable[None]]) -> None:
        task = asyncio.get_running_loop().create_task(self._told(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _told(self, work: Callable[[], Awaitable[None]]) -> None:
        try:
            await work()
        except TransportError as error:
            # What is not acknowledged comes again.
            self._observers.tell("transport.failed", queue=self._queue, error=str(error))

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


def _heed_cancellation() -> None:
    """Brokers' clients wait with ``wait_for``, which swallows a cancellation that comes together with the answer."""
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError
