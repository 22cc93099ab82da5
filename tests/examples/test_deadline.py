"""One kind of order is repeated past its deadline, as the pattern has it: R26 and R28."""

from __future__ import annotations

from pathlib import Path

import pytest

from examples.orders.database import OrderCare, OrderState
from examples.orders.workflows import WORKFLOWS
from examples.shop.services.process import ServiceProcess
from tests.examples.order_calls import ENDS, open_desk

pytestmark = pytest.mark.servers


async def test_a_personal_order_past_its_deadline_is_repeated_and_fulfilled_once(
    tmp_path: Path, services: dict[str, ServiceProcess], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(WORKFLOWS[OrderCare.PERSONAL], "complete_seconds", 3.0)
    await services["payment"].put_faults([{"kind": "down"}])
    async with open_desk(f"sqlite:///{tmp_path / 'orders.db'}") as desk, desk.app.running():
        await desk.post("order-1", care=OrderCare.PERSONAL)

        async def is_repeated() -> bool:
            return any(audit.act == "repeat" and audit.step is None for audit in await desk.client.audits("order-1"))

        assert await desk.until(is_repeated)
        status = await desk.client.task("order-1").status()
        assert status.failure_count >= 1
        assert (status.deadline or 0) > status.created_at + 3
        await services["payment"].put_faults([])
        assert (await desk.heard(*ENDS)).type == "stepward.task.completed"
        [order] = await desk.orders()
        assert order.state is OrderState.PROCESSED
        assert len(await services["payment"].ledger()) == 1
