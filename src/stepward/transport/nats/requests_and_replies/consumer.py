"""One queue of the stream as this process pulls from it: no more than there is room for, and no polling."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

import msgspec
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription

from stepward.errors import TransportError
from stepward.transport.broker.consuming.consumer import Consumer
from stepward.transport.nats.connection import NatsConnection
from stepward.transport.nats.refused_acknowledgements import REFUSED_SECONDS, check_acknowledgements
from stepward.transport.nats.requests_and_replies.request_stream import RETURNED, Stream, consumer_name

LONGEST_PULL = 5.0
PULLS_PER_LEASE = 3
"""Seconds of one pull: a message is leased from its request at the latest, so a pull is short beside a lease."""
OVERDUE = 1.0
"""Seconds past its end after which a pull is given up."""
MOST_FAILED = 2
NANOSECONDS = 1_000_000_000
EMPTY = frozenset({"404", "408"})
"""The status of a pull that ended without a further message."""
ACK, KEEP, REFUSE = b"+ACK", b"+WPI", b"-NAK"


@dataclass(slots=True)
class Pull:
    """A pull, which the server answers until it is used up or ends."""

    left: int
    asked_at: float
    """When it was sent, by the store's clock: leases of its messages count from then."""
    overdue_at: float
    """When it was sent, by the loop's clock."""


class NatsSource:
    """Feeds an intake. ``ask`` keeps one pull open while a caller waits."""

    def __init__(
        self, link: NatsConnection, stream: Stream, queue: str, intake: Consumer[str], now: Callable[[], float]
    ) -> None:
        self._link = link
        self._stream = stream
        self._queue = queue
        self._intake = intake
        self._now = now
        self._client: Client | None = None
        self._subscription: Subscription | None = None
        self._inbox = ""
        self._lease = 0.0
        """The lease of the queue's consumer in seconds; 0 while unknown."""
        self._pull: Pull | None = None
        self._failed = 0
        self._why = ""
        self._asking = asyncio.Lock()

    async def ask(self, limit: int, lease: float) -> float:
        loop = asyncio.get_running_loop()
        async with self._asking:
            client = await self._link.client()
            if client is not self._client:
                await self._listen(client)
            pull = self._pull
            if pull is not None and loop.time() >= pull.overdue_at:
                self._fail("no answer to the last one")
                pull = None
            if pull is None:
                pull = await self._begin(client, limit, lease)
        return max(0.0, pull.overdue_at - loop.time())

    async def rest(self) -> None:
        """Nothing to stop: no message arrives without a pull."""

    async def acknowledge(self, handles: Sequence[str]) -> None:
        """Acknowledges without waiting: after a lost acknowledgement the message comes again and is acknowledged
        again."""
        await self._respond(handles, ACK)

    async def extend(self, handles: Sequence[str], lease: float) -> None:
        if lease > self._lease:
            self._lease = await self._stream.consumer(self._queue, lease)
        await self._respond(handles, KEEP)

    async def refuse(self, handles: Sequence[str]) -> None:
        await self._respond(handles, REFUSE)

    async def leave(self) -> None:
        """Ends the open pull first: its messages would reach no reader."""
        subscription, self._subscription = self._subscription, None
        if subscription is not None:
            drain: Callable[[], Awaitable[None]] = subscription.drain
            with self._link.reaching(f"queue {self._queue}"):
                await drain()

    async def _respond(self, handles: Sequence[str], word: bytes) -> None:
        client = await self._link.client()
        with self._link.reaching(f"queue {self._queue}"):
            for handle in handles:
                await client.publish(handle, word)

    async def _listen(self, client: Client) -> None:
        inbox = client.new_inbox()
        with self._link.reaching(f"queue {self._queue}"):
            self._subscription = await client.subscribe(inbox, cb=self._received)
        self._client, self._inbox, self._pull, self._lease = client, inbox, None, 0.0

    async def _begin(self, client: Client, limit: int, lease: float) -> Pull:
        target = f"{self._stream.name}.{consumer_name(self._queue)}"
        check_acknowledgements(self._link, self._queue, target)
        if self._failed > MOST_FAILED:
            self._failed = 0
            self._link.raise_denied(f"queue {self._queue}", REFUSED_SECONDS, target)
            raise TransportError(f"queue {self._queue}: expected NATS to serve its consumer, found {self._why}")
        if self._lease < lease:
            self._lease = await self._stream.consumer(self._queue, lease)
        seconds = min(LONGEST_PULL, lease / PULLS_PER_LEASE)
        pull = Pull(limit, self._now(), asyncio.get_running_loop().time() + seconds + OVERDUE)
        asked = msgspec.json.encode({"batch": limit, "expires": int(seconds * NANOSECONDS)})
        subject = f"$JS.API.CONSUMER.MSG.NEXT.{target}"
        if self._subscription is None:
            raise TransportError(f"queue {self._queue}: expected an open transport, found it closed; open another")
        self._pull = pull
        with self._link.reaching(f"queue {self._queue}"):
            await client.publish(subject, asked, reply=self._inbox)
        self._intake.prune()
        return pull

    def _fail(self, why: str) -> None:
        self._pull, self._lease, self._why = None, 0.0, why
        self._failed += 1

    async def _received(self, message: Msg) -> None:
        if message.subject == self._inbox:
            self._ended(message.headers or {})
            return
        # $JS.ACK.…: the delivery count, the stream sequence, the consumer sequence, the time, how many are pending
        parts = message.reply.split(".")
        offset = 4 if len(parts) == 9 else 6
        given, place, put_at = parts[offset], parts[offset + 1], parts[offset + 3]
        self._failed = 0
        pull = self._pull
        asked_at = pull.asked_at if pull is not None else self._now() - LONGEST_PULL
        if pull is not None:
            pull.left -= 1
            if not pull.left:
                self._pull = None
        again = given != "1" or RETURNED in (message.headers or {})
        # A stream that was wiped counts from 1 again.
        self._intake.arrived(f"{place}@{put_at}", message.reply, message.data, asked_at + self._lease, again=again)

    def _ended(self, status: dict[str, str]) -> None:
        code = status.get("Status", "")
        if code in EMPTY:
            self._pull = None
            self._failed = 0
        else:
            self._fail(f"{code} {status.get('Description', 'no consumer')}")
        self._intake.stir()
