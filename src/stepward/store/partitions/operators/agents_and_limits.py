"""Agents, instances, limits, slots and permits over partitions."""

from __future__ import annotations

from stepward.model.agents import AgentStanding
from stepward.model.limits.flow_limit import FlowLimit, SetLimit
from stepward.model.limits.slot_shares import SlotLease
from stepward.model.records import Instance
from stepward.store.partitions import merging
from stepward.store.partitions.operators.operator_verbs import SubjectVerbs


class PartitionedAgents(SubjectVerbs):
    """Agents and limits of every store; a change of one is made in each store."""

    async def instances(self) -> list[Instance]:
        found = await self._partitions.read_each(lambda store: store.operators.instances())
        return [instance for _, instances in found for instance in instances]

    async def drain_instance(self, id: str, actor: str) -> bool:
        return any(await self._partitions.write_reachable(lambda store: store.operators.drain_instance(id, actor)))

    async def standings(self) -> list[AgentStanding]:
        found = await self._partitions.read_each(lambda store: store.operators.standings())
        return merging.merged_standings(standing for _, standings in found for standing in standings)

    async def suspend_agent(self, name: str, note: str | None, actor: str) -> bool:
        return any(await self._partitions.write_each(lambda store: store.operators.suspend_agent(name, note, actor)))

    async def resume_agent(self, name: str, actor: str) -> bool:
        return any(await self._partitions.write_each(lambda store: store.operators.resume_agent(name, actor)))

    async def limits(self) -> list[FlowLimit]:
        found = await self._partitions.read_each(lambda store: store.operators.limits())
        limits = {limit.name: limit for _, limits in found[::-1] for limit in limits}
        return [limits[name] for name in sorted(limits)]

    async def slots(self) -> list[SlotLease]:
        found = await self._partitions.read_each(lambda store: store.operators.slots())
        return [slot for _, slots in found for slot in slots]

    async def permits(self) -> dict[tuple[str, bool], int]:
        found = await self._partitions.read_each(lambda store: store.operators.permits())
        permits: dict[tuple[str, bool], int] = {}
        for key, count in (item for _, each in found for item in each.items()):
            permits[key] = permits.get(key, 0) + count
        return permits

    async def set_limit(self, name: str, values: SetLimit, actor: str) -> None:
        await self._partitions.write_each(lambda store: store.operators.set_limit(name, values, actor))

    async def reset_limit(self, name: str, actor: str) -> bool:
        return any(await self._partitions.write_each(lambda store: store.operators.reset_limit(name, actor)))
