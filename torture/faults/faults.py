"""The faults, drawn from a seed, and how many of each hit a working process."""

from __future__ import annotations

import asyncio
import random
import signal
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import NamedTuple

from torture.application.keeper import ActorProcess
from torture.faults.witness import PAST_LEASE, Witness
from torture.servers.cluster import PostgresPair

PAUSE_SECONDS = (0.3, 2.0)
HOLD_SECONDS = (2.0, 5.0)
WORK_SECONDS = 3.0
"""How long a victim is looked for that works."""
LOOK_SECONDS = 0.1
MISSING_SHARE = 0.2
"""How often a kind is drawn of which none was delivered yet, whatever it weighs."""
WEIGHTS = {
    **{"kill scheduler": 6, "kill agent": 5, "kill supervisor": 3, "kill submission": 3},
    **{"pause scheduler": 5, "pause agent": 4, "pause supervisor": 3, "pause submission": 2},
    **{"end scheduler": 2, "end agent": 2, "end supervisor": 1, "end submission": 1},
    **{"crash of the primary": 2, "failover": 3, "standby held": 3, "connections cut": 3},
}
ON_SERVERS = frozenset({"crash of the primary", "failover", "standby held"})
"""One at a time: they are done to the same two servers."""

Strike = Callable[[], Awaitable[bool]]


class Chaos(NamedTuple):
    """One more kind of fault."""

    weight: int
    strike: Strike
    """Brings it about; whether it hit a working process."""
    lasts: bool = False
    """Whether others strike meanwhile; one of the kind at a time."""


class TortureFaults:
    """Strikes, one or two at a time, until the time is over."""

    def __init__(
        self, cluster: PostgresPair, actors: Sequence[ActorProcess], witness: Witness, chance: random.Random
    ) -> None:
        self._cluster = cluster
        self._actors = actors
        self._witness = witness
        self._chance = chance
        self._taken: set[str] = set()
        self._striking: asyncio.Future[list[None]] | None = None
        self._chaos: dict[str, Chaos] = {}
        self._reconnecting: dict[str, asyncio.Task[None]] = {}
        self.weights: dict[str, int] = dict(WEIGHTS)
        self.alone = asyncio.Lock()
        """Held by what is done to both servers."""
        self.attempted: Counter[str] = Counter()
        self.delivered: Counter[str] = Counter()
        self.last = "none yet"

    def add(self, chaos: Mapping[str, Chaos]) -> None:
        """Have more kinds drawn."""
        self._chaos.update(chaos)
        self.weights.update({name: each.weight for name, each in chaos.items()})

    @property
    def missing(self) -> list[str]:
        """The kinds of which none was delivered."""
        return [name for name in self.weights if not self.delivered[name]]

    async def run(self, seconds: float) -> None:
        """Strike for so long, at times two at once: every kind once, then as often as each weighs, and those again of
        which none was delivered."""
        kinds = sorted(self.weights)
        first = self._chance.sample(kinds, len(kinds))
        try:
            async with asyncio.timeout(seconds):
                while True:
                    names = self._chance.sample(kinds, k=2, counts=[self.weights[name] for name in kinds])
                    if first:
                        names = [first.pop()]
                    elif self.missing and self._chance.random() < MISSING_SHARE:
                        names = [self._chance.choice(self.missing)]
                    elif self._chance.random() < 0.7 or ON_SERVERS.issuperset(names):
                        names = names[:1]
                    self._striking = asyncio.gather(*(self.strike(name) for name in names))
                    await asyncio.shield(self._striking)
                    await asyncio.sleep(self._chance.uniform(*PAUSE_SECONDS))
        except TimeoutError:
            return

    async def strike(self, name: str) -> None:
        """Bring one fault about, or begin one that lasts."""
        if name in self._chaos and self._chaos[name].lasts:
            if name not in self._reconnecting or self._reconnecting[name].done():
                self._reconnecting[name] = asyncio.create_task(self._bring_about(name))
            return
        await self._bring_about(name)

    async def heal(self) -> None:
        """Wait until whatever still goes on is over."""
        if self._striking is not None:
            await self._striking
        await asyncio.gather(*self._reconnecting.values())

    async def victim(self, role: str) -> tuple[ActorProcess | None, bool]:
        """A process of that role, one at work if one is found in time."""
        able: Sequence[ActorProcess] = []
        for _ in range(int(WORK_SECONDS / LOOK_SECONDS)):
            able = [a for a in self._actors if a.role == role and a.is_running and a.name not in self._taken]
            for actor in self._chance.sample(able, len(able)):
                if await self._witness.is_working(actor):
                    return actor, True
            await asyncio.sleep(LOOK_SECONDS)
        return (self._chance.choice(able), False) if able else (None, False)

    async def are_committing(self) -> bool:
        """Whether steps begin or end, as soon as they do."""
        for _ in range(int(WORK_SECONDS / LOOK_SECONDS)):
            if await self._witness.are_committing():
                return True
            await asyncio.sleep(LOOK_SECONDS)
        return False

    async def _bring_about(self, name: str) -> None:
        verb, _, role = name.partition(" ")
        strikes: dict[str, Strike] = {
            "crash of the primary": self._crash,
            "failover": self._fail_over,
            "standby held": self._hold,
            "connections cut": self._cut,
        }
        self.attempted[name] += 1
        self.last = name
        if name in self._chaos:
            self.delivered[name] += await self._chaos[name].strike()
        elif name in strikes:
            async with self.alone:
                self.delivered[name] += await strikes[name]()
        else:
            self.delivered[name] += await self._on_one(verb, role)

    async def _on_one(self, verb: str, role: str) -> bool:
        """Strike one process of that role."""
        victim, works = await self.victim(role)
        if victim is None:
            return False
        self._taken.add(victim.name)
        try:
            return await self._on(verb, victim) and works
        finally:
            self._taken.discard(victim.name)

    async def _on(self, verb: str, victim: ActorProcess) -> bool:
        if verb == "pause":
            return await self._pause(victim)
        victim.signal(signal.SIGKILL if verb == "kill" else signal.SIGTERM)
        return True

    async def _pause(self, victim: ActorProcess) -> bool:
        """Stop it until its lease is over; nothing is delivered if others still take it for alive."""
        pid = victim.pid
        victim.signal(signal.SIGSTOP)
        await asyncio.sleep(self._chance.uniform(*PAST_LEASE))
        is_fenced = victim.pid == pid and await self._witness.is_fenced(victim)
        victim.signal(signal.SIGCONT)
        return is_fenced

    async def _crash(self) -> bool:
        works = await self.are_committing()
        await self._cluster.crash()
        return works

    async def _fail_over(self) -> bool:
        works = await self.are_committing()
        await self._cluster.fail_over()
        return works

    async def _cut(self) -> bool:
        works = await self.are_committing()
        return await self._cluster.cut() > 0 and works

    async def _hold(self) -> bool:
        """Delivered if commits were seen to wait."""
        self._cluster.hold()
        try:
            await asyncio.sleep(self._chance.uniform(*HOLD_SECONDS))
            return await self._cluster.waiting() > 0
        finally:
            self._cluster.release()
