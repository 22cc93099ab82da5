"""The order application in one process, against real services: orders are fulfilled whole or taken back whole."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from examples.orders.app import app
from examples.orders.database import OrderCare, OrderState
from examples.orders.workflows import WORKFLOWS
from examples.shop.services.process import ServiceProcess
from tests.examples.order_calls import ENDS, Desk, open_desk

pytestmark = pytest.mark.servers

TEAPOT = {"product": "teapot", "quantity": 2}
ANVIL = {"product": "anvil", "quantity": 1}


@pytest.fixture
async def desk(tmp_path: Path, services: dict[str, ServiceProcess]) -> AsyncIterator[Desk]:
    async with open_desk(f"sqlite:///{tmp_path / 'orders.db'}") as desk, desk.app.running():
        yield desk


def test_the_application_is_complete() -> None:
    assert app.name == "orders"
    assert set(WORKFLOWS) == set(OrderCare)
    assert [agent.name for agent in app.agents] == ["stock", "payment", "parcel", "mail"]
    assert [each.queue for each in app.submissions] == ["orders"]
    undone = [name for agent in app.agents for name, each in agent.operations.items() if each.has_undo]
    assert undone == ["stock.reserve", "payment.charge", "parcel.create"]


async def test_every_line_is_reserved_and_the_whole_is_charged(desk: Desk, services: dict[str, ServiceProcess]) -> None:
    await desk.post("order-1")
    end = await desk.heard(*ENDS)
    assert (end.type, end.data["result"]) == ("stepward.task.completed", "parcel-000001")
    [order] = await desk.orders()
    assert (order.state, order.tracking) == (OrderState.PROCESSED, "parcel-000001")
    reserved = [effect["details"] for effect in await services["stock"].ledger()]
    assert reserved == [TEAPOT, {"product": "kettle", "quantity": 1}]
    [charge] = await services["payment"].ledger()
    assert charge["details"] == {"amount_cents": order.amount_cents}


async def test_a_second_line_out_of_stock_gives_the_first_back(desk: Desk, services: dict[str, ServiceProcess]) -> None:
    await desk.post("order-1", lines=[TEAPOT, ANVIL])
    end = await desk.heard(*ENDS)
    assert (end.type, end.data["error"]["message"].partition(": ")[0]) == (
        "stepward.task.undone",
        "POST stock:/reserve",
    )
    reserve, release = await services["stock"].ledger()
    assert (reserve["details"], release["undoes"]) == (TEAPOT, reserve["key"])
    assert await services["payment"].ledger() == []


async def test_a_declined_card_gives_every_line_back(desk: Desk, services: dict[str, ServiceProcess]) -> None:
    await services["payment"].put_faults([{"kind": "declined"}])
    await desk.post("order-1")
    assert (await desk.heard(*ENDS)).type == "stepward.task.undone"
    effects: list[dict[str, Any]] = await services["stock"].ledger()
    assert [each["action"] for each in effects] == ["reserve", "reserve", "release", "release"]
    assert {each["undoes"] for each in effects[2:]} == {each["key"] for each in effects[:2]}
