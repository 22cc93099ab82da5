"""The messages by which stores claim an application's name: read, and returned to the queue.

A broker shows a message to one reader at a time, so that one look may miss what another process reads at that moment.
"""

from __future__ import annotations

import asyncio
import contextlib

from stepward.transport.amqp10.connection import Amqp10Connection
from stepward.transport.amqp10.node_addresses import Place
from stepward.transport.amqp10.protocol.connection import AmqpConnection
from stepward.transport.amqp10.protocol.links import Received
from stepward.transport.amqp10.protocol.messages import Sent

ASKED = "stepward-asked"
"""A property: the store asks for the name, and does not have it yet."""
ASKED_TTL_SECONDS = 10.0
"""Seconds after which the broker drops what a process has asked that is gone."""
GATHER_SECONDS = 0.01
"""Seconds for which a look keeps messages from other processes, from the first message on."""
MOST_READ = 100
MARKER = "text/plain"


class NameClaims:
    """The claims that were seen, by the ids of their messages."""

    def __init__(self) -> None:
        self.granted: dict[str, str] = {}
        """The stores that have the name; more than one only if a process was stopped while it took it."""
        self.asked: dict[str, str] = {}
        """The stores that ask for it."""

    @property
    def owner(self) -> str | None:
        """The store that has the name; of several that of the least id, so that all processes find the same."""
        return self.granted[min(self.granted)] if self.granted else None

    @property
    def is_new(self) -> bool:
        """Whether the store that has the name asked for it while this process looked."""
        return min(self.granted, default="") in self.asked

    def note(self, received: Received) -> None:
        """Note a message."""
        message = received.message
        kind = self.asked if is_asking(received) else self.granted
        kind[message.ident] = message.body.decode(errors="replace")


class ClaimQueue:
    """The queue of claims of one name, as one process reads and writes it; ``ident`` is the id of its messages."""

    def __init__(self, link: Amqp10Connection, line: AmqpConnection, place: Place, ident: str) -> None:
        self.address = place.address
        self.ident = ident
        self.claims = NameClaims()
        self._gives_back = False
        self._link = link
        self._line = line
        self._place = place

    async def ask(self, store: str) -> None:
        """Put the message that asks for the name, which the broker drops after a while. Raises AmqpFault."""
        await self._put(Sent(store.encode(), self.ident, MARKER, ttl=ASKED_TTL_SECONDS, properties={ASKED: True}))
        self.claims.asked[self.ident] = store

    async def grant(self, store: str) -> None:
        """Put the message by which the store has the name. Raises AmqpFault."""
        await self._put(Sent(store.encode(), self.ident, MARKER))
        self.claims.granted[self.ident] = store

    def give_back(self) -> None:
        """Have the next looks remove the message by which the store has the name."""
        self._gives_back = True
        del self.claims.granted[self.ident]

    async def look(self, seconds: float) -> bool:
        """Note what the broker shows; whether that is all that was asked, as far as this process knows.

        Where it is less, another process looks at that moment. ``seconds`` bounds the wait for the first message. What
        the process asked is removed once a store has the name. Raises AmqpFault.
        """
        found: list[Received] = []
        first = asyncio.Event()

        def on_message(received: Received) -> None:
            if not self._is_given_back(received):
                self.claims.note(received)
            found.append(received)
            first.set()

        receiver = await self._link.receiver(self._line, self._place, on_message)
        receiver.allow(MOST_READ)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await first.wait()
            await asyncio.sleep(GATHER_SECONDS)
        for received in found:
            self._put_back(received)
        receiver.close()
        return self.claims.asked.keys() <= {received.message.ident for received in found}

    def _put_back(self, received: Received) -> None:
        is_answered = is_asking(received) and received.message.ident == self.ident and self.claims.granted
        if is_answered or self._is_given_back(received):
            received.accept()
        else:
            received.release()

    def _is_given_back(self, received: Received) -> bool:
        return self._gives_back and received.message.ident == self.ident and not is_asking(received)

    async def _put(self, message: Sent) -> None:
        sender = await self._line.sender(self.address)
        await sender.put(message)
        sender.close()


def is_asking(received: Received) -> bool:
    """Whether the message asks for the name, and does not say that its store has it."""
    return bool(received.message.properties.get(ASKED))
