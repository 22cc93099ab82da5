"""A submission queue in a stream, as this process consumes it.

Each delivery counts, so a message must not be taken beside one that returned: first one is requested, and more only
after a new one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import msgspec
from nats.aio.msg import Msg
from nats.js.api import AckPolicy, ConsumerConfig

from stepward.runtime.cancelling import heed_cancellation
from stepward.transport.nats.application.puller import NANOSECONDS, TAKES, Patience, Puller
from stepward.transport.nats.application.streams import AppStream, expiry_of, is_expired
from stepward.transport.nats.refused_acknowledgements import REFUSED_SECONDS, check_acknowledgements
from stepward.transport.queues.contract import QueuedMessage
from stepward.transport.queues.in_flight import InFlight

LONGEST_PULL = 5.0
PULLS_PER_LEASE = 3
"""Seconds of one pull: a message is leased from its request at the latest, so a pull is short beside a lease."""
MOST_TAKEN = 100_000
"""Most unsettled messages of one queue."""
REMEMBERED_SECONDS = 60.0
ACK, KEEP = b"+ACK", b"-NAK "


class NatsTaking:
    """Implements ``WorkQueue``; a handle is the subject on which a message is acknowledged."""

    def __init__(self, stream: AppStream, queue: str, subject: str) -> None:
        self._stream = stream
        self._queue = queue
        self._subject = subject
        self._consumer = subject.split(".", 2)[2].replace(".", "_")
        self._puller = Puller(stream.link, queue, self._received, stream.now)
        self._in_flight: InFlight[str] = InFlight()
        self._lease = 0.0
        """The lease of the queue's consumer in seconds; 0 while unknown."""
        self._behind = 0
        """Messages pending after the last one, which was new."""
        self._expired: list[str] = []
        self._taking = asyncio.Lock()

    async def take(self, limit: int, lease: float) -> Sequence[QueuedMessage]:
        patience = Patience(self._queue)
        async with self._taking:
            while not (given := self._in_flight.give(limit, self._stream.now())):
                await patience.heed(await self._fetch(limit, lease))
                heed_cancellation()
            return given

    def given(self, token: int) -> QueuedMessage | None:
        return self._in_flight.given(token)

    async def settle(self, tokens: Sequence[int]) -> None:
        """A lost acknowledgement lets the message come again."""
        await self._say(self._in_flight.settle(tokens), ACK)

    async def extend(self, tokens: Sequence[int], lease: float) -> None:
        """Return it with a delay: until then it stays with this process."""
        handles = self._in_flight.extend(tokens, self._stream.now() + lease)
        await self._say(handles, KEEP + msgspec.json.encode({"delay": int(lease * NANOSECONDS)}))

    async def close(self) -> None:
        """Close without returning messages: they return when their leases are over."""
        self._in_flight.clear()
        await self._puller.close()

    async def _fetch(self, limit: int, lease: float) -> str:
        if self._lease < lease:
            self._lease = await self._stream.ensure_consumer(self._config(lease))
        self._in_flight.lapsed(self._stream.now() - REMEMBERED_SECONDS)
        target = f"{self._stream.name}.{self._consumer}"
        check_acknowledgements(self._stream.link, self._queue, target)
        self._behind = 0
        why = await self._puller.pull(target, 1, min(LONGEST_PULL, self._lease / PULLS_PER_LEASE))
        if self._behind and limit > 1:
            why = await self._puller.pull(target, min(limit - 1, self._behind), None, whole=True)
        if why:
            self._lease = 0.0
            self._stream.link.raise_denied(f"queue {self._queue}", REFUSED_SECONDS, f'{TAKES}{target}"')
        expired, self._expired = self._expired, []
        await self._say(expired, ACK)
        return why

    async def _say(self, handles: Sequence[str], word: bytes) -> None:
        if handles:
            client = await self._stream.link.client()
            with self._stream.link.reaching(f"queue {self._queue}"):
                for handle in handles:
                    await client.publish(handle, word)

    def _received(self, message: Msg) -> None:
        # $JS.ACK.…: the delivery count, the stream sequence, the consumer sequence, the time, how many are pending
        parts = message.reply.split(".")
        offset = 4 if len(parts) == 9 else 6
        tries, behind = int(parts[offset]), int(parts[offset + 4])
        if is_expired(message.headers, self._stream.now()):
            self._expired.append(message.reply)
            return
        self._behind = behind if tries == 1 else 0
        expires_at = expiry_of(message.headers, self._stream.now())
        self._in_flight.add(message.reply, message.data, tries, self._puller.asked_at + self._lease, expires_at)

    def _config(self, lease: float) -> ConsumerConfig:
        return ConsumerConfig(
            durable_name=self._consumer,
            filter_subject=self._subject,
            ack_policy=AckPolicy.EXPLICIT,
            ack_wait=lease,
            max_deliver=-1,
            max_ack_pending=MOST_TAKEN,
        )
