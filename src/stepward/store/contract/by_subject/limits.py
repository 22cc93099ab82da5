"""The operators' part of limits."""

from __future__ import annotations

from typing import Protocol

from stepward.model.limits.flow_limit import FlowLimit, SetLimit
from stepward.model.limits.slot_shares import SlotLease


class LimitStore(Protocol):
    """The verbs of limits."""

    async def limits(self) -> list[FlowLimit]:
        """All limits, by name."""
        ...

    async def slots(self) -> list[SlotLease]:
        """The slots that instances of Agents have leased."""
        ...

    async def permits(self) -> dict[tuple[str, bool], int]:
        """How many tasks have a permit (True) or wait for one (False), by the name of the limit."""
        ...

    async def set_limit(self, name: str, values: SetLimit, actor: str) -> None:
        """Sets a limit in place of what is declared; what ``values`` does not name stays as it is in force."""
        ...

    async def reset_limit(self, name: str, actor: str) -> bool:
        """Lets what is declared hold again; False if nothing was set."""
        ...
