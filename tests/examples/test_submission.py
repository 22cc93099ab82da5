"""What the shop accepts from its queue: each order once, with its price, and nothing that it cannot fulfil."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from examples.orders import database
from examples.orders.catalogue import LONGEST_ADDRESS, LONGEST_NAME, MOST_LINES, MOST_OF_ONE, PRODUCTS
from examples.orders.database import OrderCare, OrderLine, OrderRecord
from examples.orders.workflows import WORKFLOWS
from stepward.client import session_of
from stepward.model.records import DeadLetter
from tests.examples.order_calls import REPLIES, Desk, open_desk

TEAPOT = {"product": "teapot", "quantity": 1}
RECEIVED = "stepward.request.received"


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    """Only the submission runs."""
    async with (
        open_desk(f"sqlite:///{tmp_path / 'orders.db'}") as desk,
        desk.app.running(scheduler=False, agents=False, supervisor=False),
    ):
        yield desk


async def _dead_letters(desk: Desk) -> list[DeadLetter]:
    """The dead letters, once something was made of the message."""

    async def is_dealt_with() -> bool:
        return bool(await desk.client.dead_letters() or await desk.client.tasks())

    await desk.until(is_dealt_with)
    return await desk.client.dead_letters()


async def test_an_order_and_its_task_come_of_a_message(desk: Desk) -> None:
    await desk.post("order-1")
    assert (await desk.heard(RECEIVED)).subject == "order-1"
    lines = (OrderLine(product="teapot", quantity=2), OrderLine(product="kettle", quantity=1))
    [order] = await desk.orders()
    assert order == OrderRecord(
        id="order-1", customer="Ada", lines=lines, amount_cents=15250, address="Harbour Street 5", care=OrderCare.NORMAL
    )
    record = await session_of(desk.client).record("order-1")
    assert (record.workflow, record.input, record.reply_to) == ("fulfil_order", b'["order-1"]', REPLIES)
    [task] = await desk.client.tasks(label=("customer", "Ada"))
    assert (task.id, task.process_state) == ("order-1", "Pending")


@pytest.mark.parametrize("care", OrderCare)
async def test_care_chooses_the_workflow(desk: Desk, care: OrderCare) -> None:
    await desk.post("order-1", care=care.value)
    await desk.heard(RECEIVED)
    [order] = await desk.orders()
    [task] = await desk.client.tasks()
    assert (order.care, task.workflow) == (care, WORKFLOWS[care].name)


async def test_the_same_message_twice_is_one_order(desk: Desk) -> None:
    for id in ("order-1", "order-1", "order-2"):
        await desk.post(id)
    assert [(await desk.heard(RECEIVED)).subject for _ in range(2)] == ["order-1", "order-2"]
    assert [order.id for order in await desk.orders()] == ["order-1", "order-2"]
    assert len(await desk.client.tasks()) == 2
    assert await desk.client.dead_letters() == []


async def test_the_largest_order_is_accepted(desk: Desk) -> None:
    lines = [{"product": "anvil", "quantity": MOST_OF_ONE}] * MOST_LINES
    await desk.post("order-1", lines=lines, customer="A" * LONGEST_NAME, address="H" * LONGEST_ADDRESS)
    await desk.heard(RECEIVED)
    [order] = await desk.orders()
    assert order.amount_cents == PRODUCTS["anvil"].price_cents * MOST_OF_ONE * MOST_LINES


async def test_the_parcel_service_decides_about_a_missing_address(desk: Desk) -> None:
    await desk.post("order-1", address="")
    assert (await desk.heard(RECEIVED)).subject == "order-1"


UNACCEPTABLE: dict[str, tuple[dict[str, Any], str]] = {
    "no customer": ({"customer": ""}, "something else than `str` of length >= 1"),
    "customer too long": (
        {"customer": "A" * (LONGEST_NAME + 1)},
        f"something else than `str` of length <= {LONGEST_NAME}",
    ),
    "customer no text": ({"customer": 5}, "found `int` instead of `str`"),
    "no lines": ({"lines": []}, "something else than `array` of length >= 1"),
    "too many lines": (
        {"lines": [TEAPOT] * (MOST_LINES + 1)},
        f"something else than `array` of length <= {MOST_LINES}",
    ),
    "unknown product": ({"lines": [TEAPOT, {"product": "unicorn", "quantity": 1}]}, "found 'unicorn'"),
    "none of it": ({"lines": [{"product": "teapot", "quantity": 0}]}, "something else than `int` >= 1"),
    "too many of it": (
        {"lines": [{"product": "teapot", "quantity": MOST_OF_ONE + 1}]},
        f"something else than `int` <= {MOST_OF_ONE}",
    ),
    "line with a price": ({"lines": [TEAPOT | {"price_cents": 1}]}, "unknown field `price_cents`"),
    "order with a price": ({"amount_cents": 1}, "unknown field `amount_cents`"),
    "address too long": (
        {"address": "H" * (LONGEST_ADDRESS + 1)},
        f"something else than `str` of length <= {LONGEST_ADDRESS}",
    ),
    "unknown care": ({"care": "loving"}, "Invalid enum value 'loving'"),
}


@pytest.mark.parametrize("name", UNACCEPTABLE)
async def test_an_order_that_can_never_be_fulfilled_is_a_dead_letter(desk: Desk, name: str) -> None:
    fields, words = UNACCEPTABLE[name]
    await desk.post("order-1", **fields)
    [letter] = await _dead_letters(desk)
    assert words in letter.reason
    assert "\n" not in letter.reason
    assert (await desk.orders(), await desk.client.tasks()) == ([], [])


async def test_a_dead_letter_keeps_nothing_from_its_neighbours(desk: Desk) -> None:
    await desk.post("order-1", customer="")
    await desk.post("order-2")
    assert (await desk.heard(RECEIVED)).subject == "order-2"
    assert [order.id for order in await desk.orders()] == ["order-2"]


async def test_an_order_whose_task_is_long_gone_is_not_charged_again(desk: Desk) -> None:
    await desk.orders()
    line = OrderLine(product="teapot", quantity=1)
    order = OrderRecord(id="order-1", customer="Ada", lines=(line,), amount_cents=4200, address="")
    async with desk.client.transaction() as transaction:
        assert await database.insert_order(transaction, order)
    await desk.post("order-1")
    [letter] = await _dead_letters(desk)
    assert letter.reason == "order order-1: expected a new one, found one that was placed before"
    assert await desk.client.tasks() == []
