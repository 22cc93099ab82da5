"""The stream of an application: its queues are subjects, each read through one consumer."""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import Awaitable, Callable, Collection, Sequence
from datetime import datetime
from itertools import islice
from typing import TypeVar

from nats.js import JetStreamContext
from nats.js.api import (
    AckPolicy,
    ConsumerConfig,
    DiscardPolicy,
    RawStreamMsg,
    RetentionPolicy,
    StorageType,
    StreamConfig,
)
from nats.js.errors import Error as JetStreamError
from nats.js.errors import NoStreamResponseError, NotFoundError

from stepward.errors import QueueRefused, TransportError
from stepward.model.messages.requests import request_queue
from stepward.transport.broker.batching import MessageBatch
from stepward.transport.broker.queue_names import BrokerNames
from stepward.transport.nats.connection import NatsConnection

DAY = 86_400.0
MOST_AGE = 7 * DAY
MOST_MESSAGES = 100_000
"""Most broker messages of one queue; more are refused, while other queues go on."""
MOST_OTHERS = 1_000
"""Most orphaned reply queues found by one look."""
MOST_TAKEN = 100_000
"""Most unsettled broker messages of one queue."""
IDLE_SECONDS = 3600.0
"""Seconds after which a Scheduler's idle consumer is deleted; its queue is kept."""
ASKED = request_queue("")
ANSWER_SECONDS = 2.0
PATIENCE_SECONDS = 5.0
"""Seconds for which a cluster may elect a leader before a request fails."""
PAUSE = 0.1
RETURNED = "Stepward-Returned"
"""A header: the message may have been delivered before, under another sequence number."""

Done = TypeVar("Done")


class Stream:
    """Makes the stream and its consumers where they are missing, and appends to it; ``now`` is the store's clock."""

    def __init__(
        self, link: NatsConnection, names: BrokerNames, now: Callable[[], float], lost: Callable[[], None]
    ) -> None:
        self.name = names.stream
        self._root = names.root
        self._link = link
        self._now = now
        self._lost = lost
        self._created: datetime | None = None
        self._place = 0
        """The last known stream sequence."""

    def subject(self, queue: str) -> str:
        """The subject of a queue."""
        return f"{self._root}.queue.{queue}"

    @property
    def broadcasts(self) -> str:
        """The subject of broadcasts between processes, which are not stored."""
        return f"{self._root}.told"

    async def open(self) -> None:
        """Make the stream unless it exists; an existing one keeps its operator's settings.

        Calls ``lost`` if it is another stream than before, or has fewer messages than it had.
        """
        await self._patiently(lambda _: self._open())

    async def _open(self) -> None:
        context = await self._context()
        with self._link.reaching(f"stream {self.name}", self.name):
            try:
                found = await context.stream_info(self.name)
            except NotFoundError:
                found = await context.add_stream(self._config())
        known, self._created = self._created, found.created
        if known is not None and (known != found.created or found.state.last_seq < self._place):
            self._place = found.state.last_seq
            self._lost()

    async def append(self, queue: str, batches: Sequence[MessageBatch]) -> None:
        """Append messages concurrently; each is acknowledged."""
        if len(batches) == 1:
            await self._append(queue, batches[0])
            return
        ended = await asyncio.gather(*(self._append(queue, batch) for batch in batches), return_exceptions=True)
        for outcome in ended:
            if outcome is not None:
                raise outcome

    async def consumer(self, queue: str, lease: float) -> float:
        """Make the consumer of a queue unless it exists; its lease in seconds, which is at least ``lease``."""
        return await self._patiently(lambda _: self._consumer(queue, lease))

    async def _consumer(self, queue: str, lease: float) -> float:
        await self._open()
        context = await self._context()
        name = consumer_name(queue)
        with self._link.reaching(f"queue {queue}", f"{self.name}.{name}"):
            with contextlib.suppress(NotFoundError):
                found = (await context.consumer_info(self.name, name)).config.ack_wait or 0.0
                if found >= lease:
                    return found
            config = ConsumerConfig(
                durable_name=name,
                filter_subject=self.subject(queue),
                ack_policy=AckPolicy.EXPLICIT,
                ack_wait=lease,
                max_deliver=-1,
                max_ack_pending=MOST_TAKEN,
                inactive_threshold=None if queue.startswith(ASKED) else IDLE_SECONDS,
            )
            await context.add_consumer(self.name, config)
        return lease

    async def standing(self, queues: Collection[str], live: Collection[str] | None) -> Sequence[str]:
        """Those of some reply queues that have messages, and with ``live`` up to 1,000 others outside ``live``."""
        if not queues and live is None:
            return []
        context = await self._context()
        with self._link.reaching(f"stream {self.name}", self.name):
            try:
                found = await context.stream_info(self.name, subjects_filter=self.subject("replies.>"))
            except NotFoundError:
                return []
        subjects = found.state.subjects or {}
        named = [queue for queue in queues if self.subject(queue) in subjects]
        if live is None:
            return named
        standing = (subject.removeprefix(self.subject("")) for subject in subjects)
        others = (queue for queue in standing if queue not in live and queue not in queues)
        return [*named, *islice(others, MOST_OTHERS)]

    async def first(self, queue: str, after: int) -> RawStreamMsg | None:
        """The first message of a queue after a stream sequence, taken or not."""
        context = await self._context()
        with self._link.reaching(f"queue {queue}", self.name):
            try:
                return await context.get_msg(self.name, seq=after + 1, subject=self.subject(queue), next=True)
            except NotFoundError:
                return None

    async def delete(self, place: int) -> None:
        """Delete a message, if it still exists."""
        context = await self._context()
        with self._link.reaching(f"stream {self.name}", self.name):
            try:
                await context.delete_msg(self.name, place)
            except JetStreamError:
                # Another process that adopts the queue was faster.
                return

    async def _append(self, queue: str, batch: MessageBatch) -> None:
        async def append(again: bool) -> None:
            if again:
                await self._open()
            await self._append_once(queue, batch)

        await self._patiently(append)

    async def _patiently(self, act: Callable[[bool], Awaitable[Done]]) -> Done:
        """Call ``act`` until it succeeds, for ``PATIENCE_SECONDS`` at most: a cluster may be electing a leader.

        ``act`` receives whether this is a repeat.
        """
        loop = asyncio.get_running_loop()
        end = loop.time() + PATIENCE_SECONDS
        again = False
        while True:
            try:
                return await act(again)
            except TransportError as error:
                if loop.time() > end or _is_final(error):
                    raise
                await self._link.probe()
            again = True
            await asyncio.sleep(PAUSE)

    async def _append_once(self, queue: str, batch: MessageBatch) -> None:
        context = await self._context()
        age = batch.expires_at - self._now()
        ttl = math.ceil(max(age, 0.0)) + 1 if age < MOST_AGE else None
        subject = self.subject(queue)
        with self._link.reaching(f"queue {queue}", f'"{subject}"'):
            try:
                headers = {RETURNED: "1"} if batch.is_returned else None
                taken = await context.publish(subject, batch.body, ANSWER_SECONDS, headers=headers, msg_ttl=ttl)
            except NoStreamResponseError:
                raise TimeoutError("no stream takes it") from None
        self._place = max(self._place, taken.seq)

    async def _context(self) -> JetStreamContext:
        return (await self._link.client()).jetstream(timeout=ANSWER_SECONDS)

    def _config(self) -> StreamConfig:
        return StreamConfig(
            name=self.name,
            subjects=[self.subject(">")],
            retention=RetentionPolicy.WORK_QUEUE,
            storage=StorageType.FILE,
            # A message beyond the limit is refused; accepted ones are never dropped.
            discard=DiscardPolicy.NEW,
            max_age=MOST_AGE,
            # No limit in bytes: a server reserves those for the stream, used or not.
            max_msgs_per_subject=MOST_MESSAGES,
            discard_new_per_subject=True,
            num_replicas=self._link.address.replicas,
            allow_msg_ttl=True,
        )


def consumer_name(queue: str) -> str:
    """The name of a queue's consumer, which may not contain a dot."""
    return queue.replace(".", "_", 1)


def _is_final(error: TransportError) -> bool:
    """Whether an immediate repeat is useless: there is no connection, or the server refuses."""
    return error.__cause__ is None or isinstance(error, QueueRefused)
