"""A private response queue in a stream, as its reader reads it: reading marks nothing, settling deletes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy

from stepward.runtime.cancelling import heed_cancellation
from stepward.transport.nats.application.puller import TAKES, Patience, Puller
from stepward.transport.nats.application.streams import AppStream, is_expired
from stepward.transport.nats.refused_acknowledgements import REFUSED_SECONDS
from stepward.transport.queues.contract import QueuedMessage
from stepward.transport.queues.response_log import ResponseLog

BATCH = 64
"""Broker messages requested at once."""
LONGEST_PULL = 5.0
FORGOTTEN_SECONDS = 30.0
"""Seconds after which the server deletes an idle consumer; the consumer holds no state."""


class NatsReading:
    """Implements ``ResponseQueue``; a handle is a sequence number in the stream."""

    def __init__(
        self, stream: AppStream, queue: str, subject: str, new_uid: Callable[[], str], *, watches: bool
    ) -> None:
        self._watches = watches
        self._stream = stream
        self._queue = queue
        self._subject = subject
        self._new_uid = new_uid
        self._ledger: ResponseLog[int] = ResponseLog()
        self._puller = self._new_puller()
        self._consumer: str | None = None
        self._asked_over: Client | None = None
        """The connection that the consumer was made for: messages sent over another may be lost."""
        self._counted = 0
        """How many messages of the consumer arrived."""
        self._owed: list[int] = []
        """Sequence numbers that are settled and not yet deleted."""
        self._seen = 0
        """The sequence number of the last message that arrived."""
        self._made: datetime | None = None
        """The creation time of the stream to which these sequence numbers belong."""
        self._verified: Client | None = None
        """The connection over which that time was read."""
        self._reading = asyncio.Lock()

    async def read(self, after: int, limit: int) -> Sequence[QueuedMessage]:
        patience = Patience(self._queue)
        async with self._reading:
            if after == 0:
                await self._begin_again()
            if self._watches:
                self._ledger.pass_over(after)
            while not (found := self._ledger.follows(after, limit)):
                await patience.heed(await self._fetch())
                heed_cancellation()
            return found

    def given(self, token: int) -> QueuedMessage | None:
        return self._ledger.given(token)

    async def settle(self, tokens: Sequence[int]) -> None:
        """Deletes everything before the first unsettled message in one request."""
        client = await self._stream.link.client()
        if client is not self._verified:
            await self._verify(client)
        self._owed += self._ledger.settle(tokens)
        left = self._ledger.first
        before = [place for place in self._owed if left is None or place < left]
        if before:
            await self._stream.forget(self._subject, max(before) + 1)
        self._owed = [place for place in self._owed if place not in before]
        while self._owed:
            await self._stream.delete(self._owed[-1])
            self._owed.pop()

    async def close(self) -> None:
        await self._puller.close()

    async def _begin_again(self) -> None:
        self._consumer = None
        self._ledger.clear()
        self._seen = 0

    async def _fetch(self) -> str:
        client = await self._stream.link.client()
        if self._consumer is None or client is not self._asked_over:
            await self._renew(client)
        target = f"{self._stream.name}.{self._consumer}"
        why = await self._puller.pull(target, BATCH, LONGEST_PULL)
        if why:
            self._consumer = None
            self._stream.link.raise_denied(f"queue {self._queue}", REFUSED_SECONDS, f'{TAKES}{target}"')
        return why

    async def _renew(self, client: Client) -> None:
        """Make a consumer that starts after the last message; the old one does not track what it sent."""
        self._consumer = None
        await self._puller.close()
        self._puller = self._new_puller()
        await self._verify(client)
        name = self._new_uid()
        await self._stream.ensure_consumer(
            ConsumerConfig(
                name=name,
                filter_subject=self._subject,
                deliver_policy=DeliverPolicy.BY_START_SEQUENCE if self._seen else DeliverPolicy.ALL,
                opt_start_seq=self._seen + 1 if self._seen else None,
                ack_policy=AckPolicy.NONE,
                inactive_threshold=FORGOTTEN_SECONDS,
                mem_storage=True,
                num_replicas=1,
            )
        )
        self._consumer, self._asked_over, self._counted = name, client, 0

    async def _verify(self, client: Client) -> None:
        """Forget all sequence numbers if the stream was lost and made again."""
        made = await self._stream.open()
        if made != self._made:
            self._ledger.clear()
            self._owed.clear()
            self._seen, self._made = 0, made
        self._verified = client

    def _new_puller(self) -> Puller:
        return Puller(self._stream.link, self._queue, self._received, self._stream.now)

    def _received(self, message: Msg) -> None:
        # …: the consumer, its delivery count, the stream sequence, the consumer sequence, the time, how many are
        # pending; newer servers append a random token.
        parts = message.reply.split(".")
        consumer, _, place, counted = parts[3:7] if len(parts) == 9 else parts[5:9]
        if consumer != self._consumer:
            return
        self._counted += 1
        if int(counted) != self._counted:
            # Earlier ones were lost on the way: settling this one would delete them unread.
            self._consumer = None
            return
        self._seen = int(place)
        if not is_expired(message.headers, self._stream.now()):
            self._ledger.add(place, self._seen, message.data)
