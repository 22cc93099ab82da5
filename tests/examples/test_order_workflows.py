"""The order application in one process, against real services: orders and tasks change together."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from examples.orders import agents, database, shop
from examples.orders.app import app
from examples.orders.database import Care, Order, OrderState
from examples.orders.workflows import WORKFLOWS
from stepward import App, Client
from stepward.errors import InvalidId
from stepward.store.contract import TaskFilter
from tests.examples.service_calls import Start

ORDER = Order(
    id="order-1",
    customer="Ada",
    product="teapot",
    quantity=2,
    amount_cents=8400,
    address="Harbour Street 5",
)
DECLINED = {"kind": "declined", "order_id": "order-1", "action": "charge"}


@pytest.fixture
def local(tmp_path: Path) -> App:
    """The application on a file of its own."""
    agent_list = [agents.stock, agents.payment, agents.parcel, agents.mail]
    return App(
        "orders",
        workflows=WORKFLOWS.values(),
        agents=agent_list,
        store=f"sqlite:///{tmp_path / 'orders.db'}",
        supervisor_every="50ms",
    )


@pytest.fixture
async def client(local: App) -> AsyncIterator[Client]:
    async with local.client() as client:
        async with client.transaction() as transaction:
            await database.create_table(transaction)
        yield client


async def _orders(client: Client) -> list[Order]:
    async with client.transaction() as transaction:
        return await database.read_orders(transaction)


async def _use(start_service: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    for agent in (agents.stock, agents.payment, agents.parcel, agents.mail):
        service = await start_service(agent.name)
        monkeypatch.setattr(agent, "base_url", service.url)
        if agent is agents.payment:
            await service.put_faults([{**DECLINED, "order_id": "order-2"}])


def test_the_application_is_complete() -> None:
    assert app.name == "orders"
    assert set(WORKFLOWS) == set(Care)
    assert [agent.name for agent in app.agents] == ["stock", "payment", "parcel", "mail"]
    undone = [name for agent in app.agents for name, each in agent.operations.items() if each.has_undo]
    assert undone == ["stock.reserve", "payment.charge", "parcel.create"]


async def test_an_order_and_its_task_are_placed_together_and_once(client: Client) -> None:
    for _ in range(2):
        handle = await shop.place(client, ORDER)
        assert (await handle.status()).process_state == "Pending"
    assert await _orders(client) == [ORDER]
    assert len(await client.store.tasks(TaskFilter())) == 1


async def test_a_refused_task_leaves_no_order(client: Client) -> None:
    with pytest.raises(InvalidId):
        await shop.place(client, replace(ORDER, id="not/an/id"))
    assert await _orders(client) == []
    assert await client.tasks() == []


async def test_fulfils_one_order_and_undoes_another(
    local: App, client: Client, start_service: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    await _use(start_service, monkeypatch)
    async with local.running():
        handles = [await shop.place(client, order) for order in (ORDER, replace(ORDER, id="order-2"))]
        ends = [await shop.conclude(client, handle) for handle in handles]
    assert ends == [OrderState.PROCESSED, OrderState.UNDONE]
    orders = await _orders(client)
    assert [order.state for order in orders] == ends
    assert [order.tracking for order in orders] == ["parcel-000001", None]
