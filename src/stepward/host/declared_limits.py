"""Limits that the code of a process declares, recorded when the process starts."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from stepward.model.limits.flow_limit import FlowLimit
from stepward.store.contract import HostStore


async def declare_limits(host: HostStore, declared: Sequence[FlowLimit], served: Collection[str]) -> None:
    """Record the limits that are declared, and that the others of the names ``served`` are not; what an operator has
    set stays."""
    known = {limit.name for limit in await host.limits() if limit.is_declared}
    undeclared = known.intersection(served) - {limit.name for limit in declared}
    if declared or undeclared:
        await host.declare_limits(declared, sorted(undeclared))
