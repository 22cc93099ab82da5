"""The Agents of a process: one instance under one lease, and a runner for each."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from stepward.agent.protection.shared_state import SharedState
from stepward.agent.runner import AgentRunner
from stepward.host.assembly import Parts, Roles
from stepward.host.declared_limits import declare_limits
from stepward.host.leases import InstanceLeases
from stepward.model.agents import AgentHealth
from stepward.model.limits.flow_limit import FlowLimit, agent_limit
from stepward.model.messages.completion_tokens import KEY_BYTES, signer
from stepward.model.records import Role

NO_LEASE = 0.0
"""The distant past."""


class AgentActors:
    """The Agents that a process serves."""

    def __init__(self, parts: Parts, roles: Roles, leases: InstanceLeases) -> None:
        self._parts = parts
        self._leases = leases
        self._served = [a for a in parts.agents if roles.agents is None or a.name in roles.agents]
        self.instance = ""
        """Their instance id; after a lost lease it is another."""
        self.runners: dict[str, AgentRunner] = {}

    @property
    def names(self) -> list[str]:
        """The names of the Agents that are served here."""
        return [agent.name for agent in self._served]

    def health(self) -> list[AgentHealth]:
        """The health of each Agent."""
        if self.runners:
            return [runner.health for runner in self.runners.values()]
        return [
            AgentHealth(agent=agent.name, capacity=agent.concurrency if agent.max_in_flight is None else 0)
            for agent in self._served
        ]

    async def register(self) -> None:
        """Register an instance, which announces the Agents to other processes.

        The slots that an instance before it has leased are not the new one's.
        """
        for runner in self.runners.values():
            if runner.is_limited:
                runner.allow(0)
        capacity = sum(agent.concurrency for agent in self._served)
        self.instance = await self._leases.register(Role.AGENT, self.names, capacity, self.health())

    async def make(self, standing: SharedState) -> list[AgentRunner]:
        """The runners; they share ``standing``, the state of each Agent over all instances."""
        parts = self._parts
        sign = signer(parts.app, await parts.store.client.completion_key(parts.environment.random.randbytes(KEY_BYTES)))
        for agent in self._served:
            self.runners[agent.name] = AgentRunner(
                agent,
                parts.transport,
                now=parts.store.now,
                environment=parts.environment,
                observers=parts.observers,
                lease_until=self._lease_until,
                standing=standing,
                request_lease=parts.settings.lease,
                sign=sign,
                threads=parts.threads,
                payload_bytes=parts.settings.payload_bytes,
                failures=parts.failures,
            )
            if agent.max_in_flight is not None:
                self.runners[agent.name].allow(0)
        return list(self.runners.values())

    async def declare_limits(self) -> None:
        """Record what the code declares of limits; what an operator has set stays."""
        declared = [
            FlowLimit(
                name=agent_limit(agent.name),
                declared_concurrency=agent.max_in_flight,
                declared_starts=None if agent.rate is None else agent.rate.calls,
                declared_seconds=None if agent.rate is None else agent.rate.per_seconds,
            )
            for agent in self._served
            if agent.max_in_flight is not None or agent.rate is not None
        ]
        await declare_limits(self._parts.store.host, declared, [agent_limit(name) for name in self.names])

    def set_rates(self, limits: Sequence[FlowLimit]) -> None:
        """Bound the calls of each Agent by the rate that an operator has set, else by the one that is declared here."""
        rates = {limit.name: limit.rate for limit in limits if limit.set_at is not None}
        for name, runner in self.runners.items():
            runner.set_rate(rates.get(agent_limit(name), runner.agent.rate))

    async def drain(self, grace: float) -> None:
        """Take no more requests, and let running ones end."""
        await asyncio.gather(*[runner.drain(grace) for runner in self.runners.values()])

    def _lease_until(self) -> float:
        return self._leases.ends.get(self.instance, NO_LEASE)
