"""The verbs of limits, for operators."""

from __future__ import annotations

from stepward.model.limits.flow_limit import FlowLimit, SetLimit
from stepward.model.limits.slot_shares import SlotLease
from stepward.store.verbs.engine import VerbPart
from stepward.store.verbs.flow import limits


class LimitVerbs(VerbPart):
    """Implements ``LimitStore``."""

    async def limits(self) -> list[FlowLimit]:
        return await self._transactions.read(limits.limits)

    async def slots(self) -> list[SlotLease]:
        return await self._transactions.read(limits.slots)

    async def permits(self) -> dict[tuple[str, bool], int]:
        return await self._transactions.read(limits.permit_counts)

    async def set_limit(self, name: str, values: SetLimit, actor: str) -> None:
        await self._transactions.write(limits.set_limit, name, values, actor, self._clock.now())
        self._ring()

    async def reset_limit(self, name: str, actor: str) -> bool:
        was_set = await self._transactions.write(limits.reset_limit, name, actor, self._clock.now())
        self._ring()
        return was_set
