"""The kit in the Scheduler's place: sends requests and revocations, receives replies and announcements."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

import msgspec

from stepward.contract_kit.observed_changes import Changes
from stepward.contract_kit.reply_reader import ReplyArrival, ReplyReader
from stepward.errors import TransportError
from stepward.events import Observers
from stepward.model.agents import AgentHealth
from stepward.model.messages.requests import Request, idempotency_key, reply_queue, request_queue
from stepward.model.messages.signing import Signer
from stepward.transport.broker.batching import MessageBatch
from stepward.transport.broker.consuming.consumer import Consumer, Source
from stepward.transport.broker.dead_letters import BrokerDeadLetter
from stepward.transport.broker.rejections import Rejections
from stepward.transport.contract import AgentMessage
from stepward.transport.open_broker import Opening
from stepward.transport.wire.capacity_announcements import decode_capacity
from stepward.transport.wire.encoding import Wire, join
from stepward.transport.wire.wire_events import encode_revocation

NEVER = float("inf")
LONG = 60.0
"""Seconds to the complete-by of a request that is to end before."""
PRIORITY = 5
ATTACH_SECONDS = 15.0
"""Seconds within which another instance stands in the Agent's queue."""
MOST_AT_ONCE = 16
"""Most broker messages that are asked for at once."""


class SchedulerRole:
    """Plays the Scheduler of one Agent; ``now`` is the clock by which the Agent judges deadlines."""

    def __init__(
        self,
        broker: Opening,
        *,
        app: str,
        agent: str,
        signer: Signer,
        lease: float,
        now: Callable[[], float],
        new_uid: Callable[[], str],
        changes: Changes,
    ) -> None:
        self.agent = agent
        self.source = f"/stepward/{app}/{request_queue(agent)}"
        """The source that replies of the Agent must name."""
        self.store = signer.store
        self.now = now
        self.arrival = ReplyArrival(changes.notify)
        self.announcements: list[tuple[float, str, AgentHealth]] = []
        """When, which process, and its health."""
        self._broker = broker
        self._app = app
        self._lease = lease
        self._new_uid = new_uid
        self._changes = changes
        self._requests = request_queue(agent)
        self._replies = reply_queue(new_uid())
        self._wire = Wire(app, signer)
        self._consumer = self._reading(self._replies, ReplyReader(app, signer, self.arrival))
        self._reader: asyncio.Task[object] | None = None
        self._numbers = count(1)

    @property
    def limit(self) -> int:
        """Most bytes of a message at the broker."""
        return self._broker.limit

    async def open(self) -> None:
        """Connect, and make the Agent's queue. Raises SettingsError or TransportError."""
        await self._broker.open(self._received, lambda _: None, self.store)
        await self._broker.prepare(self._requests, self._lease)
        self._reader = asyncio.create_task(self._consumer.take(MOST_AT_ONCE, self._lease), name="contract-kit-replies")

    async def close(self) -> None:
        """Delete the reply queue, and disconnect."""
        if self._reader is not None:
            self._reader.cancel()
            await asyncio.wait([self._reader])
        await self._consumer.close()
        with contextlib.suppress(TransportError):
            await self._broker.release(self._replies)
        await self._broker.close()

    def request(
        self, operation: str, *arguments: object, seconds: float = LONG, undoes: Request | None = None
    ) -> Request:
        """A request for the first attempt of a new step, with that time to its complete-by."""
        task, key = self._new_uid(), f"{self.agent}.{operation}/1"
        key = key if undoes is None else f"{undoes.key}/undo"
        return Request(
            task=task if undoes is None else undoes.task,
            task_id=f"contract-{next(self._numbers)}",
            run=1,
            key=key,
            attempt=1,
            agent=self.agent,
            operation=f"{self.agent}.{operation}",
            undo=undoes is not None,
            input=msgspec.json.encode(arguments),
            complete_by=self.now() + seconds,
            idempotency_key=idempotency_key(task if undoes is None else undoes.task, 1, key, 0),
            undoes=None if undoes is None else undoes.idempotency_key,
            reply_to=self._replies,
            priority=PRIORITY,
        )

    async def send(self, *requests: Request, is_returned: bool = False, signer: Signer | None = None) -> None:
        """Send requests in one broker message, which the broker keeps past their complete-by."""
        wire = self._wire if signer is None else Wire(self._app, signer)
        await self.send_body(join([wire.encode(each, self.now()) for each in requests]), is_returned=is_returned)

    def encoded(self, request: Request) -> bytes:
        """The request as one event."""
        return self._wire.encode(request, self.now())

    async def send_body(self, body: bytes, *, is_returned: bool = False) -> None:
        """Send any bytes to the Agent."""
        await self._broker.append(self._requests, [MessageBatch(body, NEVER, is_returned)])

    async def revoke(self, request: Request) -> None:
        """Revoke a step up to the attempt of that request."""
        source = f"/stepward/{self._app}/{self._replies}"
        await self._broker.broadcast(
            encode_revocation(source, self._requests, request.task, request.run, request.key, request.attempt)
        )

    async def take_as_another_instance(self, seconds: float) -> list[AgentMessage]:
        """What another instance of the Agent is given within that time; taken requests are settled.

        The time counts from when it stands in the queue, which takes long at a broker under load.
        """
        sources: list[Source[Any]] = []
        consumer = self._reading(self._requests, self._wire, sources.append)
        try:
            async with asyncio.timeout(ATTACH_SECONDS):
                await sources[0].ask(1, self._lease)
            async with asyncio.timeout(seconds):
                found = await consumer.take(1, self._lease)
            await consumer.settle([delivery.token for delivery in found])
            return [delivery.message for delivery in found]
        except TimeoutError:
            return []
        finally:
            await consumer.close()

    def check_reading(self) -> None:
        """Raise the TransportError with which reading the replies ended, if it did."""
        if self._reader is not None and self._reader.done():
            self._reader.result()

    def _reading(self, queue: str, wire: Wire, noted: Callable[[Source[Any]], None] = lambda _: None) -> Consumer[Any]:
        """A consumer of the queue; ``noted`` is called with its source."""
        observers = Observers()

        def source(consumer: Consumer[Any]) -> Source[Any]:
            made: Source[Any] = self._broker.source(queue, consumer)
            noted(made)
            return made

        return Consumer(
            queue,
            source,
            wire=wire,
            now=self.now,
            observers=observers,
            put=self._give_back,
            bury=_drop,
            rejections=Rejections(observers, self.now),
        )

    async def _give_back(self, queue: str, messages: Sequence[AgentMessage], is_returned: bool) -> None:
        events = [self._wire.encode(message, self.now()) for message in messages]
        await self._broker.append(queue, [MessageBatch(join(events), NEVER, is_returned)])

    def _received(self, body: bytes) -> None:
        announced = decode_capacity(body)
        if announced is not None and announced[1].agent == self.agent:
            self.announcements.append((self.now(), *announced))
            self._changes.notify()


async def _drop(queue: str, dead_letters: Sequence[BrokerDeadLetter]) -> None:
    """Drop unreadable messages that the kit itself sent."""
