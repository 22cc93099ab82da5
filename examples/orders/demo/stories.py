"""The stories: what each order of the demo meets, and how it has to end."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from examples.orders.database import Care, Order, OrderState
from examples.orders.proof import Expected

PRICES_CENTS = {"teapot": 4200, "kettle": 6850, "anvil": 19900}
STOCK = {"teapot": 100, "kettle": 100, "anvil": 0}
CUSTOMERS = ("Ada", "Bela", "Chandra", "Dolores", "Emre", "Fatou")

Fault = dict[str, Any]
FLAKY_MAIL: Fault = {"kind": "flaky", "action": "send", "rate": 0.25}
"""Each fourth letter is refused for a moment, whosever it is."""


class Part(StrEnum):
    """What people do in a story."""

    NONE = "none"
    TWICE = "twice"  # the customer's browser sends the order twice
    CANCELS = "cancels"  # the customer cancels once the card is charged
    OPERATOR = "operator"  # an operator corrects the address


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """A fault of one service, for the one order of the story.

    `is_asked_again` says that what the service does for orders must then be asked for once more.
    """

    service: str
    fault: Fault
    is_asked_again: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """One order and what it meets."""

    met: str
    ends: OrderState = OrderState.PROCESSED
    product: str = "teapot"
    quantity: int = 1
    address: str = "Harbour Street 5"
    care: Care = Care.NORMAL
    part: Part = Part.NONE
    troubles: tuple[Trouble, ...] = ()


def slow(service: str, action: str, seconds: float) -> Trouble:
    """The service takes its time."""
    return Trouble(service=service, fault={"kind": "slow", "action": action, "seconds": seconds, "times": 1})


def once(kind: str, service: str, action: str, *, is_asked_again: bool = True) -> Trouble:
    """A fault that strikes one call."""
    fault = {"kind": kind, "action": action, "times": 1}
    return Trouble(service=service, fault=fault, is_asked_again=is_asked_again)


def down(times: int) -> Trouble:
    """The payment service answers 503 so many times."""
    fault = {"kind": "down", "action": "charge", "times": times}
    return Trouble(service="payment", fault=fault, is_asked_again=True)


DECLINED = Trouble(service="payment", fault={"kind": "declined", "action": "charge"})
UNDONE = OrderState.UNDONE

STORIES = (
    Story(met="nothing"),
    Story(met="nothing", product="kettle", quantity=2),
    Story(met="nothing", quantity=3),
    Story(met="nothing", product="kettle"),
    Story(met="sent twice by the browser", part=Part.TWICE),
    Story(met="slow stock service", troubles=(slow("stock", "reserve", 1.5),)),
    Story(met="slow parcel service", product="kettle", troubles=(slow("parcel", "create", 1.5),)),
    Story(met="payment down: 503 × 4", troubles=(down(4),)),
    Story(met="payment down: 503 × 4", product="kettle", quantity=2, troubles=(down(4),)),
    Story(met="payment down, can wait", care=Care.PATIENT, troubles=(down(7),)),
    Story(met="card declined", ends=UNDONE, troubles=(DECLINED,)),
    Story(met="card declined", ends=UNDONE, product="kettle", quantity=4, troubles=(DECLINED,)),
    Story(met="parcel service hangs", troubles=(once("hang", "parcel", "create"),)),
    Story(met="mail service hangs", product="kettle", troubles=(once("hang", "mail", "send"),)),
    Story(met="answer lost after charge", troubles=(once("answer_lost", "payment", "charge"),)),
    Story(met="answer lost after parcel", quantity=2, troubles=(once("answer_lost", "parcel", "create"),)),
    Story(met="payment dies after charge", troubles=(once("crash", "payment", "charge"),)),
    Story(met="stock dies after reserve", product="kettle", troubles=(once("crash", "stock", "reserve"),)),
    Story(met="out of stock", ends=UNDONE, product="anvil"),
    Story(met="more than is in stock", ends=UNDONE, product="kettle", quantity=500),
    Story(met="no address", ends=UNDONE, address="", quantity=2),
    Story(
        met="no address, refund silent",
        ends=UNDONE,
        address="",
        troubles=(once("answer_lost", "payment", "refund", is_asked_again=False),),
    ),
    Story(met="no address, operator helps", address="", care=Care.PERSONAL, part=Part.OPERATOR),
    Story(
        met="customer cancels",
        ends=OrderState.CANCELLED,
        quantity=2,
        part=Part.CANCELS,
        troubles=(slow("parcel", "create", 2.5),),
    ),
)


def orders() -> Iterator[tuple[Order, Story]]:
    """Each story with its order."""
    for number, story in enumerate(STORIES, start=1):
        yield (
            Order(
                id=f"order-{number:02}",
                customer=CUSTOMERS[number % len(CUSTOMERS)],
                product=story.product,
                quantity=story.quantity,
                amount_cents=PRICES_CENTS[story.product] * story.quantity,
                address=story.address,
                care=story.care,
            ),
            story,
        )


def faults_of(service: str) -> list[Fault]:
    """The faults that a service is told to have."""
    faults = [
        {**trouble.fault, "order_id": order.id}
        for order, story in orders()
        for trouble in story.troubles
        if trouble.service == service
    ]
    return [*faults, FLAKY_MAIL] if service == "mail" else faults


def fault_kinds() -> list[str]:
    """The kinds of fault that occur, in words."""
    kinds = [fault["kind"] for service in ("stock", "payment", "parcel", "mail") for fault in faults_of(service)]
    return [kind.replace("_", " ") for kind in dict.fromkeys(kinds)]


def expected(order: Order, story: Story) -> Expected:
    """What the proof has to find."""
    return Expected(
        order_id=order.id,
        product=order.product,
        quantity=order.quantity,
        amount_cents=order.amount_cents,
        ends=story.ends,
        asked_again=tuple(trouble.service for trouble in story.troubles if trouble.is_asked_again),
    )
