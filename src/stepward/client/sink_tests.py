"""Tests of the sinks of alerts: what became of one."""

from __future__ import annotations

import asyncio

from stepward.model.alerts.alert_routing import AlertReceipt
from stepward.store.contract import Store

LOOK_EVERY = 0.5
"""Seconds between two looks."""
WAIT_SECONDS = 15.0
"""Most seconds of a wait for the leader: it delivers within a pass, a sink answers within ten."""


async def answer_to_test(store: Store, number: int, seconds: float = WAIT_SECONDS) -> AlertReceipt | None:
    """The sink's receipt of a test, once it took or refused it; None if no Supervisor has delivered it in time."""
    for _ in range(int(seconds / LOOK_EVERY) + 1):
        for receipt in await store.operators.alert_receipts([number]):
            if receipt.raised_at is not None or receipt.error is not None:
                return receipt
        await asyncio.sleep(LOOK_EVERY)
    return None
