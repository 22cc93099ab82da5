"""Pull requests on one consumer, one at a time: no more messages arrive than there is room for."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass

import msgspec
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription

from stepward.errors import TransportError
from stepward.transport.nats.connection import FAULTS, NatsConnection

NANOSECONDS = 1_000_000_000
OVERDUE = 1.0
"""Seconds past its end after which a pull request is given up."""
LOOK_SECONDS = 0.5
"""Seconds between two checks that the connection still stands."""
TAKES = "$JS.API.CONSUMER.MSG.NEXT."
"""The beginning of a pull request's subject; the consumer follows."""
PATIENCE_SECONDS = 5.0
PAUSE = 0.1
EMPTY = frozenset({"404", "408"})
"""The status of a pull request that ended without a further message."""


@dataclass(slots=True)
class PendingPull:
    """A pull request, which the server answers until it is used up or ends."""

    left: int
    overdue_at: float
    came: int = 0
    is_over: bool = False
    why: str = ""
    """The server's error for a pull request that it cannot serve."""


class Patience:
    """Repeats pull requests for a while: a cluster may be electing the leader of a consumer."""

    def __init__(self, queue: str) -> None:
        self._queue = queue
        self._until: float | None = None

    async def heed(self, why: str) -> None:
        """Pause if there is a reason, and raise TransportError after that has gone on for long."""
        now = asyncio.get_running_loop().time()
        if not why:
            self._until = None
        elif self._until is None:
            self._until = now + PATIENCE_SECONDS
        elif now > self._until:
            raise TransportError(f"queue {self._queue}: expected NATS to serve its consumer, found {why}")
        if why:
            await asyncio.sleep(PAUSE)


class Puller:
    """``arrived`` is called with each message; ``now`` is the store's clock."""

    def __init__(
        self, link: NatsConnection, queue: str, arrived: Callable[[Msg], None], now: Callable[[], float]
    ) -> None:
        self.asked_at = 0.0
        """When the last pull request was sent, by the store's clock: leases of its messages count from then."""
        self._link = link
        self._queue = queue
        self._arrived = arrived
        self._now = now
        self._client: Client | None = None
        self._subscription: Subscription | None = None
        self._inbox = ""
        self._asked: PendingPull | None = None
        self._stirred = asyncio.Event()

    async def pull(self, target: str, batch: int, seconds: float | None, *, whole: bool = False) -> str:
        """Pull up to ``batch`` messages, unless a pull is open, and wait for the first (``whole``: for all).

        ``target`` is ``STREAM.CONSUMER``; without ``seconds`` only present messages are requested. Returns the server's
        error if it cannot serve the request, else nothing.
        """
        client = await self._link.client()
        if client is not self._client:
            await self._listen(client)
        asked = self._asked
        if asked is None or asked.is_over:
            asked = await self._ask(client, target, batch, seconds)
        came = asked.came
        while not asked.is_over and (whole or asked.came == came):
            await self._stir()
            if client.is_closed:
                raise TransportError(f"queue {self._queue}: expected NATS to stay, found the connection lost")
            if asyncio.get_running_loop().time() > asked.overdue_at:
                asked.is_over, asked.why = True, "no answer to the last request"
        return asked.why

    async def close(self) -> None:
        """Stop listening to the open pull request."""
        subscription, self._subscription, self._client = self._subscription, None, None
        if subscription is not None:
            with contextlib.suppress(*FAULTS):
                await subscription.unsubscribe()

    async def _listen(self, client: Client) -> None:
        self._inbox, self._asked = client.new_inbox(), None
        with self._link.reaching(f"queue {self._queue}"):
            self._subscription = await client.subscribe(self._inbox, cb=self._received)
        self._client = client

    async def _ask(self, client: Client, target: str, batch: int, seconds: float | None) -> PendingPull:
        self.asked_at = self._now()
        asked = PendingPull(batch, asyncio.get_running_loop().time() + (seconds or 0.0) + OVERDUE)
        wish: dict[str, object] = {"batch": batch}
        wish |= {"no_wait": True} if seconds is None else {"expires": int(seconds * NANOSECONDS)}
        self._asked = asked
        with self._link.reaching(f"queue {self._queue}"):
            await client.publish(f"{TAKES}{target}", msgspec.json.encode(wish), reply=self._inbox)
        return asked

    async def _stir(self) -> None:
        self._stirred.clear()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LOOK_SECONDS):
                await self._stirred.wait()

    async def _received(self, message: Msg) -> None:
        asked = self._asked
        if message.subject == self._inbox:
            if asked is not None:
                headers = message.headers or {}
                code = headers.get("Status", "")
                asked.is_over = True
                said = " ".join(f"{code} {headers.get('Description', 'no consumer')}".split())
                asked.why = "" if code in EMPTY else said
        else:
            if asked is not None:
                asked.came += 1
                asked.left -= 1
                asked.is_over = asked.is_over or asked.left <= 0
            self._arrived(message)
        self._stirred.set()
