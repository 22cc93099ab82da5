"""A client with the narrow login of one Agent that misbehaves: it floods, forges, replays, and takes for nothing."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import partial

import asyncpg
from msgspec import Struct

from torture.faults.faults import Chaos, TortureFaults
from torture.faults.narrow_login import BROKEN, OWN, Narrow, WireEventFields, narrow
from torture.servers.broker import TorturedBroker
from torture.servers.cluster import SCHEMA, PostgresPair
from torture.servers.logins import APPLICATION, NARROW

STOLEN = "stolen"
"""What its replies say was done."""
FLOOD = 2_000
AT_ONCE = 100
"""How much of it is on its way: a flood that waits for each confirmation is none."""
TAKEN = 8
ROUNDS = 4
LOOK_SECONDS = 0.2
STOPPED_SECONDS = 60.0
"""How long no step of another Agent may end: a machine under load takes long, a queue that has stopped for ever."""
FOUND_SECONDS = 10.0
TAKING_SECONDS = 30.0
"""How long it waits for a request of its Agent: on a machine under load they come seldom."""
FINISHED_SECONDS = 30.0
STEP = ("correlationid", "run", "step", "attempt")
"""The parts of a request that name its step and attempt."""
RUNNING = f"""
select s.task, s.run, s.key, s.attempt, t.locked_by from {SCHEMA}.step as s join {SCHEMA}.task as t on t.uid = s.task
where s.state = 'running' and s.kind = 'operation' and t.locked_by is not null limit 50
"""
ENDED = f"select count(*) from {SCHEMA}.step where key like 'service.%' and state in ('completed', 'undone', 'failed')"
OVER = f"""
select count(*) from {SCHEMA}.step where task = $1 and run = $2 and key = $3 and finished_at is not null
"""
REQUEST: WireEventFields = {
    "type": "stepward.request",
    "source": f"/stepward/{APPLICATION}",
    "subject": "nobody",
    "expirytime": "2100-01-01T00:00:00Z",
    "agent": NARROW,
    "operation": f"{NARROW}.visit",
    "idempotencykey": f"nobody/1/{NARROW}.visit/1",
    "replyto": "replies.nobody",
    "priority": 5,
    "data": ["v"],
}
"""The parts of a readable request that no Scheduler sent."""
NO_PROOF, WRONG_PROOF = None, "0" * 32
BLIND = (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError, *BROKEN)

Misdeed = Callable[[Narrow], Awaitable[bool]]


class Intrusion(Struct):
    """What it did once."""

    kind: str
    others: int
    """Steps of the other Agent that ended meanwhile."""


class Intruder:
    """Misbehaves while nothing is done to the servers, so that what stops has stopped by it."""

    def __init__(
        self, cluster: PostgresPair, broker: TorturedBroker, faults: TortureFaults, chance: random.Random
    ) -> None:
        self._cluster = cluster
        self._broker = broker
        self._faults = faults
        self._chance = chance
        self._kept: list[WireEventFields] = []
        """Genuine requests that it took and never answered."""
        self.done: list[Intrusion] = []

    def chaos(self) -> Mapping[str, Chaos]:
        """Its kinds."""
        acts = {"takes": self._take, "floods": self._flood, "forges": self._forge, "replays": self._replay}
        return {f"narrow login {name}": Chaos(2, partial(self._misbehave, name, act)) for name, act in acts.items()}

    async def _misbehave(self, kind: str, act: Misdeed) -> bool:
        """Delivered if it did what it wanted, and others worked on."""
        async with self._faults.alone:
            try:
                before = await self._ended()
                async with narrow(self._broker) as login:
                    did = await act(login)
                    others = await self._others(before)
            except BLIND:
                return False
        self.done.append(Intrusion(kind, others))
        return did and others > 0

    async def _others(self, before: int) -> int:
        """How many steps of the other Agent ended since; waits for the first of them."""
        end = time.monotonic() + STOPPED_SECONDS
        while (others := await self._ended() - before) == 0 and time.monotonic() < end:  # noqa: ASYNC110
            await asyncio.sleep(LOOK_SECONDS)
        return others

    async def _ended(self) -> int:
        return int((await self._cluster.rows(ENDED))[0][0])

    async def _take(self, login: Narrow) -> bool:
        """Take genuine requests; waits for some."""
        end = time.monotonic() + TAKING_SECONDS
        taken: list[WireEventFields] = []
        while not taken and time.monotonic() < end:
            taken = [event for event in await login.take(TAKEN) if event["proof"] != WRONG_PROOF]
        self._kept += taken
        return bool(taken)

    async def _flood(self, login: Narrow) -> bool:
        for first in range(0, FLOOD, AT_ONCE):
            forged = [
                self._forged("nobody", 1, f"{NARROW}.visit/1", number, WRONG_PROOF)
                for number in range(first, first + AT_ONCE)
            ]
            await asyncio.gather(*(login.put(OWN, {**event, **REQUEST}) for event in forged))
        return True

    async def _forge(self, login: Narrow) -> bool:
        """Answer for others, with no proof, a wrong one, or that of a request of its own."""
        proofs = [NO_PROOF, WRONG_PROOF, *(event["proof"] for event in self._kept[-1:])]
        rows = await self._running()
        for task, run, key, attempt, scheduler in rows:
            for proof in proofs:
                forged = self._forged(task, run, key, attempt, proof)
                await login.put(f"replies.{scheduler}", forged)
                await login.trespass(forged)
        return bool(rows)

    async def _running(self) -> list[asyncpg.Record]:
        """Steps under way; waits for some."""
        end = time.monotonic() + FOUND_SECONDS
        while not (rows := await self._cluster.rows(RUNNING)) and time.monotonic() < end:  # noqa: ASYNC110
            await asyncio.sleep(LOOK_SECONDS / 4)
        return rows

    async def _replay(self, login: Narrow) -> bool:
        """Answer what others have finished since, with its genuine proof."""
        if not self._kept:
            # What is taken goes to others when the connection ends.
            async with narrow(self._broker) as taker:
                await self._take(taker)
        over = await self._over()
        for event in over:
            task, run, key, attempt = (event[name] for name in STEP)
            forged = self._forged(task, run, key, attempt, event["proof"], own=True)
            for _ in range(ROUNDS):
                await login.put(event["replyto"], forged)
        return bool(over)

    async def _over(self) -> list[WireEventFields]:
        """The last requests that it took, as far as others have finished them; waits for the first of them."""
        kept = self._kept[-TAKEN:]
        end = time.monotonic() + FINISHED_SECONDS
        while True:
            over = [event for event in kept if (await self._cluster.rows(OVER, *(event[n] for n in STEP[:3])))[0][0]]
            if over or not kept or time.monotonic() >= end:
                return over
            await asyncio.sleep(LOOK_SECONDS)

    def _forged(
        self, task: str, run: int, key: str, attempt: int, proof: str | None, *, own: bool = False
    ) -> WireEventFields:
        agent = NARROW if own else self._chance.choice([NARROW, "service"])
        known = {"store": self._kept[-1]["store"]} if self._kept else {}
        if proof is not None:
            known["proof"] = proof
        return {
            **known,
            "specversion": "1.0",
            "type": "stepward.reply",
            "id": f"{task}/{run}/{key}/{attempt}/reply",
            "source": f"/stepward/{APPLICATION}/agents.{agent}",
            "correlationid": task,
            "run": run,
            "step": key,
            "attempt": attempt,
            "outcome": "completed",
            "data": STOLEN,
        }
