"""The store that owns an application's name at a broker, recorded in a message that is taken and returned.

A store that finds no such message asks for the name by one that the broker drops soon, and looks for a while at what
others ask. The least id wins: its store takes the name, and the others find it taken. Every step leaves a message
before it looks, so that of two stores at least one sees the other.
"""

from __future__ import annotations

import asyncio
from random import Random

from stepward.transport.amqp10.connection import Amqp10Connection
from stepward.transport.amqp10.name_claims import ClaimQueue
from stepward.transport.amqp10.protocol.connection import AmqpConnection
from stepward.transport.amqp10.protocol.faults import AmqpFault
from stepward.transport.broker.name_owner import check_claim
from stepward.transport.broker.queue_names import BrokerNames

QUIET_SECONDS = 0.1
"""Seconds without a message after which a store asks for the name: a broker that is slow shows its owner later."""
WINDOW_SECONDS = 0.3
"""Least seconds between asking and the beginning of the look after which the name is taken."""
WINDOW_ROUND_TRIPS = 3
"""The same in the time that asking takes, at a broker that is far or slow."""
LEAST_LOOKS = 2
"""Looks that must have shown all that was asked."""
PAUSE_SECONDS = (0.01, 0.05)
"""Between two looks, drawn, so that those of two processes do not keep in step."""
CHECKS = 3
"""Looks after a name was taken, for another store that took it too."""
PATIENCE_SECONDS = 6.0
"""Most seconds for which a store waits for another that asked first: within the time for a connection."""


async def claim(
    link: Amqp10Connection, line: AmqpConnection, names: BrokerNames, store: str, ident: str, random: Random
) -> frozenset[str]:
    """Claim the name for a store; the ids of the messages by which it has the name.

    ``ident`` is drawn for this claim. Raises SettingsError if another store has the name, or AmqpFault.
    """
    queue = ClaimQueue(link, line, link.places.owner(names), ident)
    await queue.look(QUIET_SECONDS)
    if queue.claims.owner is None:
        await _Contest(queue, store, random).decide()
    owner = queue.claims.owner
    check_claim(f"{link.places.name} at {link.shown}", names, store, str(owner), f"queue {names.root}.store")
    return frozenset(queue.claims.granted)


class _Contest:
    """One process that asks for the name, until a store has it."""

    def __init__(self, queue: ClaimQueue, store: str, random: Random) -> None:
        self._queue = queue
        self._claims = queue.claims
        self._store = store
        self._random = random
        self._now = asyncio.get_running_loop().time
        self._window = WINDOW_SECONDS

    async def decide(self) -> None:
        """Ask, unless another did that comes first, until a store has the name.

        Raises AmqpFault where none gets it in time.
        """
        until = self._now() + PATIENCE_SECONDS
        if self._is_first:
            await self._ask(until)
        if self._queue.ident not in self._claims.granted:
            await self._wait(until)

    @property
    def _is_first(self) -> bool:
        """Whether the process has the least id of all that asked."""
        return min(self._claims.asked, default=self._queue.ident) >= self._queue.ident

    async def _ask(self, until: float) -> None:
        """Ask, and take the name once the looks have shown no process that comes first."""
        began = self._now()
        await self._queue.ask(self._store)
        asked_at, looks = self._now(), 0
        self._window = max(WINDOW_SECONDS, WINDOW_ROUND_TRIPS * (asked_at - began))
        while self._claims.owner is None and self._is_first and self._now() < until:
            await asyncio.sleep(self._random.uniform(*PAUSE_SECONDS))
            began = self._now()
            is_whole = await self._queue.look(self._window / 2)
            looks += is_whole
            is_over = is_whole and looks >= LEAST_LOOKS and began >= asked_at + self._window
            # A process that has asked since an older look was not seen.
            is_recent = self._now() <= began + self._window / 2
            if is_over and is_recent and self._claims.owner is None and self._is_first:
                await self._take(began + self._window)

    async def _take(self, until: float) -> None:
        """Take the name, and give it back if another store that comes first has it too.

        ``until``: by then the others that ask must see it. If the broker took longer, another may have taken the name
        and see nothing else, so that any other comes first.
        """
        await self._queue.grant(self._store)
        is_late = self._now() > until
        if is_late:
            await asyncio.sleep(self._window)
        await self._check()
        others = [ident for ident, store in self._claims.granted.items() if store != self._store]
        if others and (is_late or min(others) < self._queue.ident):
            self._queue.give_back()
            await self._check()

    async def _check(self) -> None:
        for _ in range(CHECKS):
            await asyncio.sleep(self._random.uniform(*PAUSE_SECONDS))
            await self._queue.look(self._window / 2)

    async def _wait(self, until: float) -> None:
        """Leave the looks to the process that comes first, until a store has the name, and keeps it."""
        await self._look_until_taken(until)
        if self._claims.is_new:
            await asyncio.sleep(2 * self._window)
            self._claims.granted.clear()
            await self._look_until_taken(until)

    async def _look_until_taken(self, until: float) -> None:
        while self._claims.owner is None:
            if self._now() >= until:
                raise AmqpFault(
                    f"queue {self._queue.address}: expected a store to take the application's name within "
                    f"{PATIENCE_SECONDS:g} s, found that several ask for it; start again"
                )
            await asyncio.sleep(self._random.uniform(self._window / 2, self._window))
            await self._queue.look(self._window / 2)
