"""The primary of the database is killed while orders are on the way, and orders come in while there is none."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Sequence

from examples.orders.database import OrderRecord
from servers.keeper.pair_process import PairProcess
from showcase.faults.flight import in_flight
from showcase.front_door import FrontDoor
from showcase.proof import Takeover
from showcase.proof.words import count
from showcase.telling import Teller
from showcase.waiting import Waits
from stepward import Client

PRIMARY = "the primary"


class Crash:
    """The end of the primary of `pair` with `enough` orders in flight.

    `acknowledged` are those that the storefront had taken by then.
    """

    def __init__(
        self, client: Client, door: FrontDoor, pair: PairProcess, waits: Waits, teller: Teller, *, enough: int
    ) -> None:
        self.acknowledged: frozenset[str] = frozenset()
        self.takeovers: list[Takeover] = []
        self._client = client
        self._door = door
        self.pair = pair
        self._waits = waits
        self._teller = teller
        self._enough = enough

    async def run(self, late: Sequence[OrderRecord]) -> None:
        """Kill the primary, place these orders meanwhile, and see the dead server come back as the standby."""
        held = await in_flight(self._client, self._waits, self._enough)
        killed = self.pair.standing.primary
        self._kill(killed.pid, held)
        await asyncio.gather(*(self._door.order(order) for order in late))
        with self._waits.named("the standby to be the primary"):
            standing = await self.pair.promoted(killed.port)
        self._teller.tell(f"The standby, {standing.primary}, is the primary now; all go on with it", "green")
        again = count(self._door.refused, "form")
        self._teller.tell(f"{count(len(late), 'order')} came in meanwhile; {again} had to be sent again")
        with self._waits.named("the new primary to have a standby"):
            standing = await self.pair.whole()
        self._teller.tell(f"{standing.standby} is attached again, as the standby", "green")

    def _kill(self, pid: int, held: frozenset[str]) -> None:
        self.acknowledged = frozenset(self._door.accepted)
        os.kill(pid, signal.SIGKILL)
        self.takeovers.append(Takeover(killed=PRIMARY, held=held))
        self._teller.tell(
            f"kill -9 PostgreSQL’s primary (pid {pid}), with {count(len(held), 'order')} in flight", "bold red"
        )
