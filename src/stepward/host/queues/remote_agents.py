"""Registers Agents in other languages, which reach no store, in the store for as long as they announce themselves.

Every Scheduler's process receives every announcement, and renews the one instance of a source and Agent. Two processes
that register it at the same moment make two instances; from then on only the first is renewed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from stepward.errors import StoreError
from stepward.host.assembly import Parts
from stepward.model.agents import AgentHealth, Report
from stepward.model.records import Instance, Role

MOST_ANNOUNCED = 1_000
"""Most announcing processes between two reads of the store."""

RemoteInstance = tuple[str, ...]
"""A source, and the Agent that it serves."""


class RemoteAgents:
    """Keeps an instance in the store for each process that announces an Agent over the broker."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._ours = f"/stepward/{parts.broker_app}/"
        self._agents = {agent.name for agent in parts.agents}
        self._announced: dict[RemoteInstance, AgentHealth] = {}
        self._stirred = asyncio.Event()

    async def keep(self) -> None:
        """Handle announcements until cancelled."""
        stop_listening = self._parts.transport.on_announcement(self._hear)
        try:
            while True:
                await self._stirred.wait()
                self._stirred.clear()
                announced, self._announced = self._announced, {}
                try:
                    await self._note(announced)
                except StoreError as error:
                    # Announcements are repeated.
                    self._parts.observers.emit("store.unavailable", error=str(error))
        finally:
            stop_listening()

    def _hear(self, source: str, health: AgentHealth) -> None:
        is_ours = source.startswith(self._ours) and health.agent in self._agents
        if not is_ours or len(self._announced) >= MOST_ANNOUNCED:
            self._parts.observers.emit("agent.not_ours", agent=health.agent, source=source)
            return
        self._announced[source, health.agent] = health
        self._stirred.set()

    async def _note(self, announced: Mapping[RemoteInstance, AgentHealth]) -> None:
        known = await self._known()
        reports = {known[place].id: Report(health=[health]) for place, health in announced.items() if place in known}
        alive = (
            await self._parts.store.host.renew(list(reports), self._parts.settings.lease, reports) if reports else set()
        )
        is_news = False
        for place, health in announced.items():
            instance = known.get(place)
            if instance is None or instance.id not in alive:
                await self._register(place[0], health)
                is_news = True
            else:
                is_news |= [each.capacity for each in instance.health] != [health.capacity]
        if is_news:
            # A process receives no hint for its own changes.
            self._parts.hints.hint()

    async def _known(self) -> dict[RemoteInstance, Instance]:
        """The first living instance of each source."""
        agents = [
            each for each in await self._parts.store.operators.instances() if each.alive and each.role is Role.AGENT
        ]
        return {(each.host, *each.serves): each for each in sorted(agents, key=lambda each: each.id, reverse=True)}

    async def _register(self, source: str, health: AgentHealth) -> None:
        record = Instance(
            id=f"{Role.AGENT}-{self._parts.environment.new_uid()}",
            role=Role.AGENT,
            host=source,
            pid=0,
            serves=[health.agent],
            capacity=health.capacity,
            health=[health],
        )
        await self._parts.store.host.register(record, self._parts.settings.lease)
