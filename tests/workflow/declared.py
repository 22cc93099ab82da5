"""Steps and children that the tests' workflows call."""

from __future__ import annotations

from typing import Any

from stepward.workflow.definition import step, workflow


@step()
async def charge(order: str = "", amount: int = 0) -> Any:
    return f"charged {order} {amount}"


@step()
async def ship(order: str = "") -> Any:
    return f"shipped {order}"


@step()
async def refund(order: str = "") -> Any:
    return f"refunded {order}"


@workflow(name="parcels.track", version="3")
async def track(parcel: str) -> Any:
    return len(parcel)
