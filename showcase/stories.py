"""The stories: what each order of the demo meets, and how it has to end."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from examples.orders.catalogue import PRODUCTS
from examples.orders.database import OrderCare, OrderLine, OrderRecord, OrderState
from showcase.proof import Expected

STOCK = {"teapot": 100, "kettle": 100, "lantern": 100, "anvil": 0}
ONE_TEAPOT: Mapping[str, int] = {"teapot": 1}
CUSTOMERS = ("Ada", "Bela", "Chandra", "Dolores", "Emre", "Fatou")

StoryFault = dict[str, Any]
FLAKY_MAIL: StoryFault = {"kind": "flaky", "action": "send", "rate": 0.25}
"""Each fourth letter is refused for a moment, whosever it is."""


class StoryPart(StrEnum):
    """What people do in a story."""

    NONE = "none"
    TWICE = "twice"  # the customer's browser sends the order twice
    CANCELS = "cancels"  # the customer cancels once the card is charged
    OPERATOR = "operator"  # an operator corrects the address


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoTrouble:
    """A fault of one service, for the one order of the story.

    `is_asked_again` says that what the service does for orders must then be asked for once more.
    """

    service: str
    fault: StoryFault
    is_asked_again: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoStory:
    """One order and what it meets."""

    met: str
    ends: OrderState = OrderState.PROCESSED
    goods: Mapping[str, int] = field(default_factory=lambda: ONE_TEAPOT)
    address: str = "Harbour Street 5"
    care: OrderCare = OrderCare.NORMAL
    part: StoryPart = StoryPart.NONE
    troubles: tuple[DemoTrouble, ...] = ()


def slow(service: str, action: str, seconds: float) -> DemoTrouble:
    """The service takes its time."""
    return DemoTrouble(service=service, fault={"kind": "slow", "action": action, "seconds": seconds, "times": 1})


def once(kind: str, service: str, action: str, *, is_asked_again: bool = True) -> DemoTrouble:
    """A fault that strikes one call."""
    fault = {"kind": kind, "action": action, "times": 1}
    return DemoTrouble(service=service, fault=fault, is_asked_again=is_asked_again)


def down(times: int) -> DemoTrouble:
    """The payment service answers 503 so many times."""
    fault = {"kind": "down", "action": "charge", "times": times}
    return DemoTrouble(service="payment", fault=fault, is_asked_again=True)


LINGER = slow("stock", "reserve", 2.0)
"""Less than the step may take: it is not asked again."""
DECLINED = DemoTrouble(service="payment", fault={"kind": "declined", "action": "charge"})
UNDONE = OrderState.UNDONE

STORIES = (
    DemoStory(met="nothing"),
    DemoStory(met="nothing", goods={"kettle": 2}),
    DemoStory(met="nothing", goods={"teapot": 3}),
    DemoStory(met="nothing, two lines", goods={"kettle": 1, "teapot": 2}),
    DemoStory(met="sent twice by the browser", part=StoryPart.TWICE),
    DemoStory(met="slow stock service", troubles=(slow("stock", "reserve", 1.5),)),
    DemoStory(met="slow parcel service", goods={"kettle": 1}, troubles=(slow("parcel", "create", 1.5),)),
    DemoStory(met="payment down: 503 × 4", troubles=(down(4),)),
    DemoStory(met="payment down: 503 × 4", goods={"kettle": 2}, troubles=(down(4),)),
    DemoStory(met="payment down, can wait", care=OrderCare.PATIENT, troubles=(down(7),)),
    DemoStory(met="card declined", ends=UNDONE, troubles=(DECLINED,)),
    DemoStory(met="card declined, two lines", ends=UNDONE, goods={"kettle": 4, "teapot": 1}, troubles=(DECLINED,)),
    DemoStory(met="parcel service hangs", troubles=(once("hang", "parcel", "create"),)),
    DemoStory(met="mail service hangs", goods={"kettle": 1}, troubles=(once("hang", "mail", "send"),)),
    DemoStory(met="answer lost after charge", troubles=(once("answer_lost", "payment", "charge"),)),
    DemoStory(met="answer lost after parcel", goods={"teapot": 2}, troubles=(once("answer_lost", "parcel", "create"),)),
    DemoStory(met="payment dies after charge", troubles=(once("crash", "payment", "charge"),)),
    DemoStory(
        met="stock dies after reserve",
        goods={"kettle": 1, "teapot": 3, "lantern": 2},
        troubles=(once("crash", "stock", "reserve"),),
    ),
    DemoStory(met="out of stock", ends=UNDONE, goods={"anvil": 1}),
    DemoStory(met="2nd line out of stock", ends=UNDONE, goods={"teapot": 2, "anvil": 1}),
    DemoStory(met="more than is in stock", ends=UNDONE, goods={"kettle": 500}),
    DemoStory(met="no address", ends=UNDONE, address="", goods={"teapot": 2}),
    DemoStory(
        met="no address, refund silent",
        ends=UNDONE,
        address="",
        troubles=(once("answer_lost", "payment", "refund", is_asked_again=False),),
    ),
    DemoStory(met="no address, operator helps", address="", care=OrderCare.PERSONAL, part=StoryPart.OPERATOR),
    DemoStory(
        met="customer cancels",
        ends=OrderState.CANCELLED,
        goods={"teapot": 2},
        part=StoryPart.CANCELS,
        troubles=(slow("parcel", "create", 2.5),),
    ),
)


def orders() -> Iterator[tuple[OrderRecord, DemoStory]]:
    """Each story with its order."""
    for number, story in enumerate(STORIES, start=1):
        yield (
            OrderRecord(
                id=f"order-{number:02}",
                customer=CUSTOMERS[number % len(CUSTOMERS)],
                lines=tuple(OrderLine(product=product, quantity=quantity) for product, quantity in story.goods.items()),
                amount_cents=sum(PRODUCTS[product].price_cents * each for product, each in story.goods.items()),
                address=story.address,
                care=story.care,
            ),
            story,
        )


def faults_of(service: str, lingering: Collection[str] = ()) -> list[StoryFault]:
    """The faults that are set at a service; orders that are to last long are held up by the first they meet."""
    faults = [
        {**trouble.fault, "order_id": order.id}
        for order, story in orders()
        for trouble in story.troubles
        if trouble.service == service
    ]
    if service == LINGER.service:
        faults += [{**LINGER.fault, "order_id": order_id} for order_id in lingering]
    return [*faults, FLAKY_MAIL] if service == "mail" else faults


def fault_kinds() -> list[str]:
    """The kinds of fault that occur, in words."""
    kinds = [fault["kind"] for service in ("stock", "payment", "parcel", "mail") for fault in faults_of(service)]
    return [kind.replace("_", " ") for kind in dict.fromkeys(kinds)]


def expected(order: OrderRecord, story: DemoStory) -> Expected:
    """What the proof has to find."""
    return Expected(
        order_id=order.id,
        goods=story.goods,
        amount_cents=order.amount_cents,
        ends=story.ends,
        asked_again=tuple(trouble.service for trouble in story.troubles if trouble.is_asked_again),
    )
