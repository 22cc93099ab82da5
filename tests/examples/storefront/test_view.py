"""The customer's view of an order, event by event."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from examples.shop.storefront.order import Care, OrderEvent, OrderItem, PlacedOrder
from examples.shop.storefront.view import Mark, View, view_of
from tests.examples.storefront.fakes import ALL_WELL, DECLINED, RECEIVED, STARTED, status_event, step, task

Happened = tuple[str, dict[str, Any]]
BEGUN: list[Happened] = [RECEIVED, STARTED, step("begin")]
ASIDE: list[Happened] = [*BEGUN, step("stock.reserve")]
PAID: list[Happened] = [*ASIDE, step("payment.charge")]
BOOKED: list[Happened] = [*PAID, step("parcel.create")]
NO_STOCK = step("stock.reserve", happened="failed", error={"message": "409", "data": {"status": 409}})
CARD_DECLINED = step("payment.charge", happened="failed", error=DECLINED)
NO_PARCEL = step("parcel.create", happened="failed", error={"message": "400", "data": {"status": 400}})
PAYMENT_DOWN = step("payment.charge", happened="delayed", failures=1, repeat_at=None, error={"message": "503"})
SILENT = step("payment.charge", happened="delayed", failures=1, repeat_at=1.5, error=None)
UNDONE: list[Happened] = [task("undoing", error={"message": "why"}), task("undone", error={"message": "why"})]

ONE = (OrderItem("teapot", 2),)
TWO = (OrderItem("teapot", 2), OrderItem("anvil", 1))
TAKEN_BACK = "Everything has been taken back;"
SEEN_TO = "Something needs a person's eye. We have been told and will see to it; you need do nothing."
AGAIN = "Nothing is lost: we try again by ourselves."
IN_DOUBT = "no money was kept: had any been taken, it was given back."


def view(happened: list[Happened], lines: tuple[OrderItem, ...] = ONE, address: str = "Harbour Street 5") -> View:
    order = PlacedOrder(
        id="order-01",
        visitor="v",
        customer="Ada",
        address=address,
        care=Care.NORMAL,
        lines=lines,
        amount_cents=8400,
        placed_at=datetime(2026, 11, 21, tzinfo=UTC),
    )
    told = (status_event("order-01", at, name, **data) for at, (name, data) in enumerate(happened, start=1))
    return view_of(
        order,
        [
            OrderEvent(id=each.id, sequence=each.sequence, type=each.type, time=each.time, data=each.data)
            for each in told
        ],
    )


@pytest.mark.parametrize(
    ("happened", "state", "note"),
    [
        ([], "sent", "It is in good hands: you may close this page and come back later."),
        ([RECEIVED], "received", "It is in good hands: you may close this page and come back later."),
        ([RECEIVED, STARTED], "working", "We are putting your goods aside."),
        (ASIDE, "working", "We are taking your payment."),
        (PAID, "working", "We are booking a parcel for you."),
        (BOOKED, "working", "We are handing your parcel over."),
        (list(ALL_WELL), "delivered", "Your parcel is with the parcel service. Thank you for your order!"),
        ([*ASIDE, PAYMENT_DOWN], "delayed", f"The payment service does not answer at the moment. {AGAIN}"),
        ([*ASIDE, PAYMENT_DOWN, step("payment.charge")], "working", "We are booking a parcel for you."),
        (
            [*BEGUN, step("stock.reserve", happened="delayed")],
            "delayed",
            f"The warehouse does not answer at the moment. {AGAIN}",
        ),
        (
            [*PAID, step("parcel.create", happened="delayed")],
            "delayed",
            f"The parcel service does not answer at the moment. {AGAIN}",
        ),
        (
            [RECEIVED, STARTED, step("begin", happened="delayed")],
            "delayed",
            f"Our order book does not answer at the moment. {AGAIN}",
        ),
        ([*ASIDE, task("waiting")], "waiting", "We wait a little and then go on by ourselves."),
        ([*ASIDE, task("waiting"), step("payment.charge")], "working", "We are booking a parcel for you."),
        ([*ASIDE, task("suspended")], "paused", "We have stopped for a moment and go on soon. Nothing is lost."),
        ([*ASIDE, task("suspended"), task("resumed")], "working", "We are taking your payment."),
        ([*ASIDE, CARD_DECLINED], "working", "We are taking your payment."),
        ([*ASIDE, CARD_DECLINED, UNDONE[0]], "undoing", "Your card was declined. We are taking everything back."),
        (
            [*ASIDE, CARD_DECLINED, *UNDONE],
            "undone",
            f"Your card was declined. {TAKEN_BACK} no money was taken.",
        ),
        (
            [*ASIDE, step("payment.charge", happened="failed", error=None), *UNDONE],
            "undone",
            f"The payment could not be made. {TAKEN_BACK} no money was taken.",
        ),
        (
            [*BEGUN, NO_STOCK, *UNDONE],
            "undone",
            "We are sorry: there is not enough left of what you ordered: 2 × Stoneware teapot. "
            f"{TAKEN_BACK} no money was taken.",
        ),
        (
            [*PAID, NO_PARCEL, *UNDONE],
            "undone",
            f"The parcel service could not take a parcel to your address. {TAKEN_BACK} your money was given back.",
        ),
        (
            [*ASIDE, PAYMENT_DOWN, *UNDONE],
            "undone",
            f"The payment service did not answer for too long. {TAKEN_BACK} {IN_DOUBT}",
        ),
        ([*ASIDE, SILENT, CARD_DECLINED, *UNDONE], "undone", f"Your card was declined. {TAKEN_BACK} {IN_DOUBT}"),
        (
            [*PAID, step("stock.count", happened="failed", error={"data": "?"}), *UNDONE],
            "undone",
            f"Our order book could not do its part. {TAKEN_BACK} your money was given back.",
        ),
        ([*PAID, *UNDONE], "undone", f"{TAKEN_BACK} your money was given back."),
        (
            [*ASIDE, PAYMENT_DOWN, step("payment.charge"), *UNDONE],
            "undone",
            f"{TAKEN_BACK} your money was given back.",
        ),
        ([RECEIVED, task("cancelled")], "cancelled", f"{TAKEN_BACK} no money was taken."),
        ([*PAID, task("undoing"), task("cancelled")], "cancelled", f"{TAKEN_BACK} your money was given back."),
        ([*ASIDE, CARD_DECLINED, task("failed")], "failed", f"Your card was declined. {SEEN_TO}"),
        ([RECEIVED, task("failed", error={"message": "x"})], "failed", SEEN_TO),
        ([*ASIDE, CARD_DECLINED, task("failed"), task("resumed")], "working", "We are taking your payment."),
        (
            [*ASIDE, CARD_DECLINED, task("failed"), task("resumed"), *UNDONE],
            "undone",
            f"{TAKEN_BACK} no money was taken.",
        ),
        (
            [*ASIDE, CARD_DECLINED, task("undoing"), task("failed")],
            "failed",
            f"Your card was declined. {SEEN_TO}",
        ),
        ([*PAID, task("undoing"), step("parcel.create")], "undoing", "We are taking everything back."),
        ([*ASIDE, ("task.admired", {}), ("step.admired", {})], "working", "We are taking your payment."),
    ],
)
def test_shows_the_orders_history(happened: list[Happened], state: str, note: str) -> None:
    shown = view(happened)
    assert (shown.state, shown.note) == (state, note)
    assert shown.sequence == len(happened)
    assert shown.is_final == (state in ("delivered", "undone", "cancelled"))
    assert shown.headline


def test_says_when_there_was_no_address() -> None:
    shown = view([*PAID, NO_PARCEL, *UNDONE], address="")
    assert shown.note.startswith("There was no address to send your parcel to.")


def test_names_the_line_that_is_sold_out() -> None:
    sold_out = step("stock.reserve", 2, happened="failed", error={"data": {"status": 409}})
    shown = view([*ASIDE, sold_out, *UNDONE], TWO)
    assert shown.note == (
        "We are sorry: there is not enough left of what you ordered: 1 × Bench anvil. "
        "Everything has been taken back; no money was taken."
    )


def test_goods_are_put_aside_line_by_line() -> None:
    assert view(ASIDE, TWO).note == "We are putting your goods aside: 1 of 2 done."
    assert marks(view(ASIDE, TWO))[1] == "in progress"
    assert marks(view([*ASIDE, step("stock.reserve", 2)], TWO))[1] == "done"


@pytest.mark.parametrize(
    ("happened", "expected"),
    [
        ([], ["in progress", "to come", "to come", "to come", "to come"]),
        ([RECEIVED], ["done", "in progress", "to come", "to come", "to come"]),
        ([*ASIDE, PAYMENT_DOWN], ["done", "done", "delayed", "to come", "to come"]),
        ([*PAID, NO_PARCEL, task("failed")], ["done", "done", "done", "not possible", "to come"]),
        ([*ASIDE, CARD_DECLINED, UNDONE[0]], ["done", "being taken back", "not possible", "not done", "not done"]),
        ([*ASIDE, CARD_DECLINED, *UNDONE], ["done", "taken back", "not possible", "not done", "not done"]),
        ([*PAID, *UNDONE], ["done", "taken back", "taken back", "not done", "not done"]),
        (list(ALL_WELL), ["done"] * 5),
    ],
)
def test_marks_the_stages(happened: list[Happened], expected: list[str]) -> None:
    assert marks(view(happened)) == expected


def test_the_last_stage_shows_the_tracking_number() -> None:
    assert [stage.name for stage in view(BOOKED).stages][3:] == ["Parcel booked", "On its way"]
    assert view(list(ALL_WELL)).stages[-1].name == "Delivered to the parcel service · tracking parcel-000001"
    assert view([*BOOKED, task("completed", result=None)]).stages[-1].name == "Delivered to the parcel service"


def marks(shown: View) -> list[str]:
    return [stage.mark.value for stage in shown.stages]


def test_an_order_that_was_refused_is_over_and_nothing_was_taken() -> None:
    refused = ("request.refused", {"reason": "order order-01: expected a new one, found one that was placed before"})
    seen = view([refused])
    assert (seen.state, seen.is_final, seen.headline) == ("refused", True, "We could not take your order")
    assert "no money taken" in seen.note
    assert "placed before" not in seen.note
    assert {stage.mark for stage in seen.stages} == {Mark.SKIPPED}
