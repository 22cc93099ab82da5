"""Clocks that are stepped and drift while everything runs."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping, Sequence

import asyncpg

from servers.clocks import LIBRARIES
from torture.faults.faults import Chaos, TortureFaults
from torture.faults.witness import Witness
from torture.servers.clocks import RATES, STEPS
from torture.servers.cluster import PostgresPair

ROLES = ("scheduler", "agent", "supervisor", "submission")
BACK_SECONDS = (3.0, 6.0)
DRIFT_SECONDS = (8.0, 20.0)
HEARD_SECONDS = 8.0
"""How long a process may take to tell how far the clock of its host is ahead: it does with its lease."""
LOOK_SECONDS = 0.2
NEAR_SECONDS = 5.0
BLIND = (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError)


class ClockFaults:
    """Moves clocks. A server's goes ahead for good, or back for some seconds: until then what is due waits."""

    def __init__(self, cluster: PostgresPair, faults: TortureFaults, witness: Witness, chance: random.Random) -> None:
        self._cluster = cluster
        self._faults = faults
        self._witness = witness
        self._chance = chance

    def chaos(self) -> Mapping[str, Chaos]:
        """Its kinds; none where libfaketime is missing."""
        if not LIBRARIES:
            return {}
        return {
            "host's clock stepped": Chaos(4, self._step_host, lasts=True),
            "host's clock drifts": Chaos(2, self._drift_host),
            "server's clock stepped": Chaos(3, self._step_server),
            "server's clock drifts": Chaos(2, self._drift_server, lasts=True),
            "failover, clock ahead": Chaos(1, self._fail_over),
        }

    async def _step_host(self) -> bool:
        """Delivered if the process worked, and reported the step with its lease."""
        victim, works = await self._faults.victim(self._chance.choice(ROLES))
        if victim is None:
            return False
        pid, before = victim.pid, await self._told(victim.pid)
        step = self._chance.choice([each for each in STEPS if abs(each - victim.clock.ahead) > NEAR_SECONDS])
        moved = step - victim.clock.ahead
        victim.clock.set(step)
        for _ in range(int(HEARD_SECONDS / LOOK_SECONDS)):
            now = await self._told(pid)
            if before is not None and now is not None and (now - before) * moved > 0 and abs(now - before) > 1:
                return works
            await asyncio.sleep(LOOK_SECONDS)
        return False

    async def _told(self, pid: int) -> float | None:
        try:
            return await self._witness.ahead(pid)
        except BLIND:
            return None

    async def _drift_host(self) -> bool:
        """Lets a host's clock drift until it is stepped, or drifts at another rate."""
        victim, works = await self._faults.victim(self._chance.choice(ROLES))
        if victim is None:
            return False
        victim.clock.set(victim.clock.ahead, self._chance.choice(RATES))
        return works

    async def _step_server(self) -> bool:
        """Delivered if steps were committed, and the server itself reported the step."""
        step = self._chance.choice(STEPS)
        async with self._faults.alone:
            works = await self._faults.are_committing()
            ahead = self._cluster.clock.ahead
            self._cluster.move_clock(ahead + step)
            try:
                await asyncio.sleep(self._chance.uniform(*BACK_SECONDS))
                moved = abs(await self._cluster.ahead() - ahead - step) < NEAR_SECONDS
            except BLIND:
                moved = False
            finally:
                if step < 0:
                    self._cluster.move_clock(ahead)
        return moved and works

    async def _drift_server(self) -> bool:
        works = await self._faults.are_committing()
        self._cluster.move_clock(self._cluster.clock.ahead, self._chance.choice(RATES))
        await asyncio.sleep(self._chance.uniform(*DRIFT_SECONDS))
        self._cluster.move_clock(self._cluster.clock.ahead)
        return works

    async def _fail_over(self) -> bool:
        ahead: Sequence[float] = [step for step in STEPS if step > 0]
        async with self._faults.alone:
            works = await self._faults.are_committing()
            await self._cluster.fail_over(self._chance.choice(ahead))
        return works
