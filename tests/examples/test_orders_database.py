"""The orders table in both databases: one SQL, in the transactions that each store hands out."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from examples.orders import database
from examples.orders.database import OpenOrder, OrderCare, OrderLine, OrderRecord, OrderState
from examples.shop.processes.stores import StoreKind
from servers.postgres import versions
from stepward import Client
from tests.examples.order_calls import ENDS, open_desk
from tests.store.postgres.server import Servers

pytestmark = pytest.mark.servers

LINES = (OrderLine(product="teapot", quantity=2), OrderLine(product="kettle", quantity=1))
ORDER = OrderRecord(
    id="order-1",
    customer="Ada",
    lines=LINES,
    amount_cents=5_000_000_000,
    address="Harbour Street 5",
    care=OrderCare.PATIENT,
)
OTHER = replace(ORDER, id="order-2", address="")


@pytest.fixture(scope="module")
def postgresql(servers: Servers) -> str:
    server = servers.of(max(versions()))
    asyncio.run(server.execute("create database orders"))
    return server.address("orders")


@pytest.fixture(params=StoreKind)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param is StoreKind.SQLITE:
        return f"sqlite:///{tmp_path / 'orders.db'}"
    address: str = request.getfixturevalue("postgresql")
    return address


@pytest.fixture
async def client(store: str) -> AsyncIterator[Client]:
    async with Client(store, app="orders") as client:
        async with client.transaction() as transaction:
            for _ in range(2):
                await database.create_table(transaction)
            await transaction.execute("DELETE FROM customer_order")
        yield client


async def test_an_order_is_read_as_it_was_written(client: Client) -> None:
    async with client.transaction() as transaction:
        assert [await database.insert_order(transaction, each) for each in (OTHER, ORDER, OTHER)] == [True, True, False]
    async with client.transaction() as transaction:
        assert await database.read_order(transaction, "order-1") == ORDER
        assert await database.read_orders(transaction) == [ORDER, OTHER]
        with pytest.raises(LookupError, match="order 'order-3': expected one that was placed, found none"):
            await database.read_order(transaction, "order-3")


async def test_recorded_orders_are_found(client: Client) -> None:
    async with client.transaction() as transaction:
        for order in (ORDER, OTHER):
            await database.insert_order(transaction, order)
        await database.set_state(transaction, "order-1", OrderState.PROCESSING)
        await database.set_tracking(transaction, "order-1", "parcel-1")
        await database.set_address(transaction, "order-2", "Elm Street 3")
    async with client.transaction() as transaction:
        assert await database.read_orders(transaction) == [
            replace(ORDER, state=OrderState.PROCESSING, tracking="parcel-1"),
            replace(OTHER, address="Elm Street 3"),
        ]


async def test_open_orders_come_in_pages_until_they_are_closed(client: Client) -> None:
    first, second = (OpenOrder(order.id, OrderState.PENDING) for order in (ORDER, OTHER))
    async with client.transaction() as transaction:
        for order in (ORDER, OTHER):
            await database.insert_order(transaction, order)
        assert await database.read_open(transaction, 1) == [first]
        assert await database.read_open(transaction, 1, first.id) == [second]
        await database.note(transaction, replace(first, state=OrderState.UNDONE, closed=True))
        assert await database.read_open(transaction, 5) == [second]
        assert (await database.read_order(transaction, "order-1")).state is OrderState.UNDONE


@pytest.mark.usefixtures("client", "services")
async def test_an_order_is_fulfilled(store: str) -> None:
    async with open_desk(store) as desk, desk.app.running():
        await desk.post("order-1")
        assert (await desk.heard(*ENDS)).type == "stepward.task.completed"
        [order] = await desk.orders()
    assert (order.state, order.tracking) == (OrderState.PROCESSED, "parcel-000001")
