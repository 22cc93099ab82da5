"""The capacity of Agents as this process knows it, and its reports about its own Agents.

None of this is on a step's path. The state of Agents is read at hints and at each third of a lease; a change by an
Agent of this process applies here at once and is written to the store right after.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from msgspec.structs import replace

from stepward.errors import StoreError, TransportError
from stepward.host.actors.agent_actors import AgentActors
from stepward.host.assembly import Parts
from stepward.host.leases import HEARTBEATS_PER_LEASE
from stepward.host.slot_leases import AgentSlots
from stepward.model.agents import AgentHealth, AgentStanding
from stepward.model.limits.flow_limit import WORKFLOW, FlowLimit
from stepward.model.messages.requests import request_queue
from stepward.model.records import Instance, Role
from stepward.scheduler.admission.fair_share import Room, room
from stepward.scheduler.scheduler import Scheduler

LOOK_SECONDS = 0.5
"""Shortest time between two reads, in seconds, however many hints come."""
STEP_SECONDS = 0.1
"""Seconds between two steps by which windows open after an outage."""
LEAST_SECONDS = 0.001

Tell = tuple[str, float | None]
"""A breaker that opened for so many seconds, or closed (None)."""


class AgentCapacity:
    """The state of all Agents as this process knows it; its own Agents read and change it."""

    def __init__(
        self,
        parts: Parts,
        actors: AgentActors,
        *,
        scheduler: Callable[[], Scheduler | None],
        report: Callable[[], None],
    ) -> None:
        self._parts = parts
        self._actors = actors
        self._scheduler = scheduler
        self._report = report
        """Causes the health of the Agents to be reported at once."""
        self._is_shared = parts.settings.transport != "local"
        self._slots = AgentSlots(parts, actors, self._demand, is_shared=self._is_shared)
        self._instances: list[Instance] = []
        self._standings: dict[str, AgentStanding] = {}
        self._unwritten: dict[str, float | None] = {}
        """By Agent, the breaker change that is still to be written: seconds for which it opened, None if it closed."""
        self._known: frozenset[str] = frozenset()
        """The instances of Agents at the last read."""
        self._acts: Counter[str] = Counter()
        """By Agent, how many changes were made here: a read that began before them is out of date."""
        self._given: tuple[str, dict[str, Room]] = ("", {})
        """The rooms that a Scheduler received last."""
        self._stirred = asyncio.Event()
        self._soon: asyncio.TimerHandle | None = None
        self._looked_at = 0.0
        self._widened_at = 0.0

    def rooms(self, scheduler: str) -> dict[str, Room]:
        """A Scheduler's room at each Agent that is served, or that is suspended."""
        now = self._parts.store.now()
        capacities = Counter[str]()
        for health in self._offered():
            capacities[health.agent] += health.room
        barred = [name for name, standing in self._standings.items() if standing.is_suspended]
        barred += [name for name, capacity in capacities.items() if not capacity and self._slots.is_out(name)]
        return {
            agent: room(capacities[agent], self._standings.get(agent), self._others(agent, scheduler), scheduler, now)
            for agent in dict.fromkeys([*capacities, *barred])
        }

    async def look(self) -> None:
        """Read the state of Agents, and apply it here."""
        self._looked_at = asyncio.get_running_loop().time()
        acts = Counter(self._acts)
        instances = await self._parts.store.operators.instances()
        standings = {standing.name: standing for standing in await self._parts.store.host.standings()}
        self._instances = [instance for instance in instances if instance.alive]
        ours = {name for name, count in self._acts.items() if name in self._unwritten or count != acts[name]}
        self._standings = standings | {name: self._standings[name] for name in ours if name in self._standings}
        limits = await self._parts.store.host.limits()
        if await self._slots.look(limits):
            self._report()
        self._actors.set_rates(limits)
        self._give_limits(limits)
        self._give_rooms()
        for name in self._actors.names:
            if name not in ours:
                self._have_heeded(name)
        await self._remind()

    async def _remind(self) -> None:
        """Repeat revocations for Agents that came since the last read: they do not know them."""
        agents = {each.id: each for each in self._instances if each.role is Role.AGENT}
        came = {name for ident, each in agents.items() if ident not in self._known for name in each.serves}
        self._known = frozenset(agents)
        for name in sorted(came) if self._scheduler() is not None else ():
            with contextlib.suppress(TransportError):  # A hint: without it the revoked step ends at its complete-by.
                await self._parts.transport.remind(request_queue(name))

    async def give_back(self) -> None:
        """Give back the slots under the limits of Agents, now and as calls end."""
        if not self._actors.runners:
            return
        try:
            await self._slots.give_back(await self._parts.store.host.limits())
        except StoreError as error:
            self._parts.observers.emit("store.unavailable", error=str(error))

    async def keep(self) -> None:
        """Read and write until cancelled."""
        self._parts.hints.listen(self._hinted)
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._patience()):
                    await self._stirred.wait()
            self._stirred.clear()
            try:
                await self._write_acts()
                await self.look()
                self._widen()
            except StoreError as error:
                self._parts.observers.emit("store.unavailable", error=str(error))
                await asyncio.sleep(self._parts.settings.poll)
                self._stirred.set()

    def opened(self, agent: str, seconds: float) -> None:
        now = self._parts.store.now()
        known = self._standings.get(agent) or AgentStanding(name=agent)
        opened_at = now if known.opened_at is None else known.opened_at
        self._act(replace(known, opened_at=opened_at, asks_at=now + seconds, probe_by=None), seconds)

    def closed(self, agent: str) -> None:
        known = self._standings.get(agent) or AgentStanding(name=agent)
        self._act(replace(known, opened_at=None, asks_at=None, probe_by=None), None)

    async def may_probe(self, agent: str, seconds: float) -> bool:
        """False while the store is unavailable: no instance may probe then."""
        instance = self._actors.instance
        self._acts[agent] += 1
        try:
            granted = await self._parts.store.host.grant_probe(agent, instance, seconds)
        except StoreError as error:
            self._parts.observers.emit("store.unavailable", error=str(error))
            granted = False
        self._acts[agent] += 1
        self._stirred.set()
        return granted

    def _act(self, standing: AgentStanding, seconds: float | None) -> None:
        self._standings[standing.name] = standing
        self._unwritten[standing.name] = seconds
        self._acts[standing.name] += 1
        self._give_rooms()
        self._report()
        self._stirred.set()

    async def _write_acts(self) -> None:
        store, instance = self._parts.store, self._actors.instance
        for agent, seconds in list(self._unwritten.items()):
            acts = self._acts[agent]
            if seconds is None:
                await store.host.close_breaker(agent, instance)
            else:
                await store.host.open_breaker(agent, instance, seconds)
            if self._acts[agent] == acts:
                del self._unwritten[agent]

    def _give_limits(self, limits: Sequence[FlowLimit]) -> None:
        scheduler = self._scheduler()
        if scheduler is not None:
            scheduler.set_limits([each for each in limits if each.name.startswith(WORKFLOW) and each.is_bounding])

    def _give_rooms(self) -> None:
        scheduler = self._scheduler()
        if scheduler is None:
            return
        given = scheduler.instance, self.rooms(scheduler.instance)
        is_to_find_out = any(room.is_barred and room.requests for room in given[1].values())
        if is_to_find_out or given != self._given:
            self._given = given
            scheduler.set_rooms(given[1])

    def _widen(self) -> None:
        scheduler, now = self._scheduler(), asyncio.get_running_loop().time()
        if scheduler is not None and scheduler.is_opening and now >= self._widened_at + STEP_SECONDS:
            self._widened_at = now
            scheduler.widen()

    def _have_heeded(self, name: str) -> None:
        runner = self._actors.runners.get(name)
        if runner is not None:
            standing = self._standings.get(name) or AgentStanding(name=name)
            instances = sum(name in each.serves for each in self._instances if each.role is Role.AGENT)
            runner.heed(standing, is_ours=standing.probe_by == self._actors.instance, instances=instances)

    def _offered(self) -> list[AgentHealth]:
        """The capacity of Agents: of this process with the local transport, else of all live instances."""
        own = self._actors.health()
        if not self._is_shared:
            return own
        others = (each for each in self._instances if each.role is Role.AGENT and each.id != self._actors.instance)
        return own + [health for each in others for health in each.health]

    def _others(self, agent: str, scheduler: str) -> dict[str, int]:
        if not self._is_shared:
            return {}
        asking = (each for each in self._instances if each.role is Role.SCHEDULER and each.id != scheduler)
        return {each.id: each.demand.get(agent, 0) for each in asking}

    def _demand(self) -> Mapping[str, int]:
        scheduler = self._scheduler()
        return {} if scheduler is None else scheduler.demand()

    def _patience(self) -> float:
        """Seconds until a read is due without a hint."""
        scheduler = self._scheduler()
        seconds = min(self._slots.patience, self._parts.settings.lease / HEARTBEATS_PER_LEASE)
        if scheduler is not None and scheduler.is_opening:
            seconds = min(seconds, STEP_SECONDS)
        now = self._parts.store.now()
        asked = [each.asks_at - now for each in self._standings.values() if each.asks_at is not None]
        return max(LEAST_SECONDS, min([seconds, *(each for each in asked if each > 0)]))

    def _hinted(self) -> None:
        if self._soon is None:
            loop = asyncio.get_running_loop()
            self._soon = loop.call_later(max(0.0, self._looked_at + LOOK_SECONDS - loop.time()), self._come)

    def _come(self) -> None:
        self._soon = None
        self._stirred.set()
