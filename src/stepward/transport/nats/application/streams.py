"""The streams of an application's own queues: one of submissions, one of events."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Collection, Sequence
from datetime import datetime

from nats.js import JetStreamContext
from nats.js.api import ConsumerConfig, DiscardPolicy, Header, RetentionPolicy, StorageType, StreamConfig
from nats.js.errors import BadRequestError, NoStreamResponseError, NotFoundError

from stepward.errors import PayloadTooLarge, QueueRefused, TransportError
from stepward.runtime.cancelling import heed_cancellation
from stepward.transport.nats.connection import NatsConnection
from stepward.transport.nats.refusals import TOO_LARGE
from stepward.transport.queues.backend_contract import Posted
from stepward.transport.queues.message_expiry import expiry

DOUBLES_SECONDS = 120.0
"""Seconds for which the server deduplicates ids, so that a message whose confirmation was lost is kept once."""
ANSWER_SECONDS = 2.0
PATIENCE_SECONDS = 5.0
"""Seconds for which a cluster may elect a leader before a message is refused."""
PAUSE = 0.1
EXPIRES = "Stepward-Expires"


class AppStream:
    """Makes the stream where it is missing, and appends to it; ``now`` is the store's clock.

    A queue takes ``most_messages``; more are refused, while other queues go on.
    """

    def __init__(
        self,
        link: NatsConnection,
        name: str,
        subjects: Sequence[str],
        *,
        retention: RetentionPolicy,
        max_age: float | None,
        most_messages: int,
        now: Callable[[], float],
    ) -> None:
        self.link = link
        self.name = name
        self.now = now
        self._subjects = list(subjects)
        self._retention = retention
        self._max_age = max_age
        self._most_messages = most_messages

    async def open(self) -> datetime | None:
        """Make the stream unless it exists; its creation time, which identifies it."""
        context = await self.context()
        with self.link.reaching(f"stream {self.name}", self.name):
            try:
                found = await context.stream_info(self.name)
            except NotFoundError:
                found = await context.add_stream(self._config())
        heed_cancellation()
        return found.created

    async def append(self, queue: str, subject: str, posted: Posted) -> None:
        """Append a message and wait until it is acknowledged."""
        end = asyncio.get_running_loop().time() + PATIENCE_SECONDS
        again = False
        while True:
            try:
                if again:
                    await self.open()
                await self._append(queue, subject, posted)
                return
            except QueueRefused:
                raise
            except TransportError as error:
                # Without a cause there is no connection.
                if asyncio.get_running_loop().time() > end or error.__cause__ is None:
                    raise
                await self.link.probe()
            again = True
            await asyncio.sleep(PAUSE)

    async def ensure_consumer(self, config: ConsumerConfig) -> float:
        """Make a consumer unless it exists; its lease in seconds."""
        await self.open()
        context = await self.context()
        with self.link.reaching(f"stream {self.name}", self.name):
            if config.durable_name is not None:
                try:
                    found = (await context.consumer_info(self.name, config.durable_name)).config.ack_wait or 0.0
                    if found >= (config.ack_wait or 0.0):
                        return found
                except NotFoundError:
                    pass
            await context.add_consumer(self.name, config)
        heed_cancellation()
        return config.ack_wait or 0.0

    async def subjects(self, pattern: str) -> Collection[str]:
        """The subjects matching that pattern that have messages."""
        context = await self.context()
        with self.link.reaching(f"stream {self.name}", self.name):
            return (await context.stream_info(self.name, subjects_filter=pattern)).state.subjects or {}

    async def consumed(self) -> Collection[str]:
        """The subjects that have a consumer."""
        context = await self.context()
        with self.link.reaching(f"stream {self.name}", self.name):
            found = await context.consumers_info(self.name)
        return {each.config.filter_subject for each in found if each.config.filter_subject is not None}

    async def forget(self, subject: str, below: int) -> None:
        """Delete the messages of a queue below a stream sequence."""
        context = await self.context()
        with self.link.reaching(f"stream {self.name}", self.name):
            await context.purge_stream(self.name, seq=below, subject=subject)

    async def delete(self, place: int) -> None:
        """Delete a message, if it still exists."""
        context = await self.context()
        with self.link.reaching(f"stream {self.name}", self.name):
            try:
                await context.delete_msg(self.name, place)
            except (NotFoundError, BadRequestError):
                return

    async def context(self) -> JetStreamContext:
        """The JetStream context of the present connection."""
        return (await self.link.client()).jetstream(timeout=ANSWER_SECONDS)

    async def _append(self, queue: str, subject: str, posted: Posted) -> None:
        context = await self.context()
        headers = {Header.MSG_ID.value: posted.id}
        ttl: float | None = None
        if posted.expires_at is not None:
            headers[EXPIRES] = repr(posted.expires_at)
            ttl = math.ceil(max(0.0, posted.expires_at - self.now())) + 1
        with self.link.reaching(f"queue {queue}", f'"{subject}"'):
            try:
                await context.publish(subject, posted.body, ANSWER_SECONDS, headers=headers, msg_ttl=ttl)
            except NoStreamResponseError:
                raise TimeoutError("no stream takes it") from None
            except BadRequestError as error:
                if error.err_code != TOO_LARGE:
                    raise
                raise PayloadTooLarge(
                    f"queue {queue}: expected a message that NATS takes, found it refused: {error.description}; "
                    f"look at the limits of stream {self.name}"
                ) from None
        heed_cancellation()

    def _config(self) -> StreamConfig:
        return StreamConfig(
            name=self.name,
            subjects=self._subjects,
            retention=self._retention,
            storage=StorageType.FILE,
            # A message beyond the limit is refused; accepted ones are never dropped.
            discard=DiscardPolicy.NEW,
            max_age=self._max_age,
            # No limit in bytes: a server reserves those for the stream, used or not.
            max_msgs_per_subject=self._most_messages,
            discard_new_per_subject=True,
            num_replicas=self.link.address.replicas,
            duplicate_window=DOUBLES_SECONDS,
            allow_msg_ttl=True,
            allow_direct=True,
        )


def is_expired(headers: dict[str, str] | None, now: float) -> bool:
    """Whether the message has expired; expiries written by foreign programs are ignored."""
    text = (headers or {}).get(EXPIRES)
    try:
        return text is not None and float(text) <= now
    except ValueError:
        return False


def expiry_of(headers: dict[str, str] | None, now: float) -> float | None:
    """When the message expires; a TTL at the server counts from now."""
    found = headers or {}
    ttl = found.get(Header.MSG_TTL.value, "").removesuffix("s")
    return expiry(found.get(EXPIRES), float(ttl) if ttl.isdecimal() else None, now)
