"""A broker that is killed or stands still, and connections to it that are cut, while everything runs."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping

from torture.faults.faults import Chaos, TortureFaults
from torture.servers.broker import HurtBroker

STILL_SECONDS = (3.0, 10.0)
"""How long a broker stands still: shorter and longer than the 6 s of silence after which a connection is given up."""

LOST_SECONDS = (1.0, 4.0)


class BrokerFaults:
    """Hurts the broker while nothing is done to other servers, and no login misbehaves at it."""

    def __init__(self, broker: HurtBroker, faults: TortureFaults, chance: random.Random) -> None:
        self._broker = broker
        self._faults = faults
        self._chance = chance

    def chaos(self) -> Mapping[str, Chaos]:
        """Its kinds."""
        return {
            "broker killed": Chaos(2, self._kill),
            "broker stands still": Chaos(2, self._stand_still),
            "broker's connections cut": Chaos(2, self._cut),
            "broker's clients lost": Chaos(2, self._lose),
        }

    async def _kill(self) -> bool:
        async with self._faults.alone:
            works = await self._faults.are_committing()
            await asyncio.to_thread(self._broker.server.kill)
            await asyncio.to_thread(self._broker.server.start)
        return works

    async def _stand_still(self) -> bool:
        async with self._faults.alone:
            works = await self._faults.are_committing()
            self._broker.server.pause()
            try:
                await asyncio.sleep(self._chance.uniform(*STILL_SECONDS))
            finally:
                self._broker.server.resume()
        return works

    async def _cut(self) -> bool:
        async with self._faults.alone:
            works = await self._faults.are_committing()
            return self._broker.relay.cut() > 0 and works

    async def _lose(self) -> bool:
        """Have clients connect again while the broker still takes the connections before for alive."""
        async with self._faults.alone:
            works = await self._faults.are_committing()
            found = self._broker.relay.lose()
            await asyncio.sleep(self._chance.uniform(*LOST_SECONDS))
            self._broker.relay.end_lost()
            return found > 0 and works
