"""The bookkeeper notes in the orders what no workflow can: undone, cancelled, in an operator's hands."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from examples.orders import database
from examples.orders.database import OrderLine, OrderRecord, OrderState
from examples.shop import bookkeeper
from examples.shop.bookkeeper import correct_address, keep, note_ends
from examples.shop.services.process import ServiceProcess
from stepward import Client
from stepward.errors import StoreUnavailable
from tests.examples.order_calls import ENDS, Desk, open_desk

pytestmark = pytest.mark.servers

COMPLETED = "stepward.step.completed"


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    """A desk without any running process."""
    async with open_desk(f"sqlite:///{tmp_path / 'orders.db'}") as desk:
        await desk.orders()
        yield desk


async def _noted(desk: Desk) -> list[tuple[str, OrderState]]:
    """The orders after a look of the bookkeeper's."""
    await note_ends(desk.client)
    return [(order.id, order.state) for order in await desk.orders()]


async def _open(desk: Desk) -> list[str]:
    async with desk.client.transaction() as transaction:
        return [order.id for order in await database.read_open(transaction, 100)]


async def _post_and_accept(desk: Desk, *ids: str) -> None:
    async with desk.app.running(scheduler=False, agents=False, supervisor=False):
        for id in ids:
            await desk.post(id)
        for _ in ids:
            await desk.heard("stepward.request.received")


async def test_how_each_order_ended_is_noted_and_closed(desk: Desk, services: dict[str, ServiceProcess]) -> None:
    await services["payment"].put_faults([{"kind": "declined", "order_id": "order-2"}])
    async with desk.app.running():
        for id in ("order-1", "order-2"):
            await desk.post(id)
        for _ in range(2):
            await desk.heard(*ENDS)
    assert await _open(desk) == ["order-1", "order-2"]
    assert await _noted(desk) == [("order-1", OrderState.PROCESSED), ("order-2", OrderState.UNDONE)]
    assert await _open(desk) == []


async def test_the_workflows_record_stands_until_its_task_ends(desk: Desk, services: dict[str, ServiceProcess]) -> None:
    await services["mail"].put_faults([{"kind": "hang"}])
    async with desk.app.running():
        await desk.post("order-1")
        while (await desk.heard(COMPLETED)).data["name"] != "finish":
            pass
        assert await _noted(desk) == [("order-1", OrderState.PROCESSED)]
        assert await _open(desk) == ["order-1"]


@pytest.mark.usefixtures("services")
async def test_an_error_is_noted_and_followed_until_the_operator_has_helped(desk: Desk) -> None:
    async with desk.app.running():
        await desk.post("order-1", address="", care="personal")
        assert (await desk.heard(*ENDS)).type == "stepward.task.failed"
        assert await _noted(desk) == [("order-1", OrderState.ERROR)]
        assert await _open(desk) == ["order-1"]
        await correct_address(desk.client, "order-1", "Harbour Street 5")
        assert (await desk.heard(*ENDS)).type == "stepward.task.completed"
    assert await _noted(desk) == [("order-1", OrderState.PROCESSED)]
    assert (await _open(desk), (await desk.orders())[0].address) == ([], "Harbour Street 5")


async def test_an_error_that_is_none_any_more_is_taken_back(desk: Desk) -> None:
    await _post_and_accept(desk, "order-1")
    async with desk.client.transaction() as transaction:
        await database.set_state(transaction, "order-1", OrderState.ERROR)
    assert await _noted(desk) == [("order-1", OrderState.PENDING)]


async def test_every_page_of_open_orders_is_looked_at(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bookkeeper, "PAGE", 2)
    ids = [f"order-{number}" for number in range(1, 6)]
    await _post_and_accept(desk, *ids)
    for id in ids[::2]:
        await desk.client.task(id).cancel()
    noted = dict(await _noted(desk))
    assert [id for id in ids if noted[id] is OrderState.CANCELLED] == ids[::2]
    assert await _open(desk) == ids[1::2]


async def test_a_store_that_is_away_for_a_moment_is_looked_at_again(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bookkeeper, "EVERY_SECONDS", 0.001)
    monkeypatch.setattr(bookkeeper, "MOST_FAILED", 3)
    away, away_for_good = StoreUnavailable("connection lost"), StoreUnavailable("no route")
    looks: list[Exception | None] = [away, away, None, away, None, away, away, away_for_good]

    async def look(client: Client) -> None:
        if (error := looks.pop(0)) is not None:
            raise error

    monkeypatch.setattr(bookkeeper, "note_ends", look)
    with pytest.raises(StoreUnavailable, match="no route"):
        await keep(desk.client)
    assert looks == []


async def test_an_order_without_a_task_holds_up_no_other(desk: Desk) -> None:
    lost = OrderRecord(
        id="lost", customer="Ada", lines=(OrderLine(product="bell", quantity=1),), amount_cents=3250, address=""
    )
    async with desk.client.transaction() as transaction:
        await database.insert_order(transaction, lost)
    await _post_and_accept(desk, "order-1")
    await desk.client.task("order-1").cancel()
    assert await _noted(desk) == [("lost", OrderState.PENDING), ("order-1", OrderState.CANCELLED)]
