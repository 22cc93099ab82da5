"""The story of an order: what its events, read from the first to the last, add up to. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from examples.shop.storefront.order import OrderEvent


class StoryState(StrEnum):
    """Where an order stands, as its customer sees it."""

    SENT = "sent"
    RECEIVED = "received"
    REFUSED = "refused"
    WORKING = "working"
    DELAYED = "delayed"
    WAITING = "waiting"
    PAUSED = "paused"
    UNDOING = "undoing"
    DELIVERED = "delivered"
    UNDONE = "undone"
    CANCELLED = "cancelled"
    FAILED = "failed"


class Money(StrEnum):
    """The known state of the customer's money."""

    KEPT = "kept"  # not requested, or the card was declined
    IN_DOUBT = "in doubt"  # the payment service was asked, and did not say
    TAKEN = "taken"


FINAL = frozenset({StoryState.DELIVERED, StoryState.UNDONE, StoryState.CANCELLED, StoryState.REFUSED})
TAKEN_BACK = frozenset({StoryState.UNDOING, StoryState.UNDONE, StoryState.CANCELLED})
GOING_ON = frozenset({StoryState.SENT, StoryState.RECEIVED, StoryState.WORKING, StoryState.DELAYED, StoryState.WAITING})

AFTER = {
    "stepward.request.received": StoryState.RECEIVED,
    "stepward.request.refused": StoryState.REFUSED,
    "stepward.task.started": StoryState.WORKING,
    "stepward.task.waiting": StoryState.WAITING,
    "stepward.task.suspended": StoryState.PAUSED,
    "stepward.task.resumed": StoryState.WORKING,
    "stepward.task.undoing": StoryState.UNDOING,
    "stepward.task.completed": StoryState.DELIVERED,
    "stepward.task.failed": StoryState.FAILED,
    "stepward.task.undone": StoryState.UNDONE,
    "stepward.task.cancelled": StoryState.CANCELLED,
}
STOCK, CHARGE, PARCEL = "stock.reserve", "payment.charge", "parcel.create"


@dataclass(frozen=True, slots=True)
class Trouble:
    """The step that did not go through last: `is_final` if it never will, with the service's status if it gave one."""

    step: str
    name: str
    is_final: bool
    status: int | None

    @property
    def occurrence(self) -> int:
        """Which of the steps of that name, from 1."""
        number = self.step.rpartition("/")[2]
        return int(number) if number.isdecimal() else 1


@dataclass(slots=True)
class Story:
    """The known state of an order; `done` counts completed steps by their names."""

    state: StoryState = StoryState.SENT
    done: dict[str, int] = field(default_factory=dict)
    money: Money = Money.KEPT
    trouble: Trouble | None = None
    tracking: str = ""


def tell(events: Iterable[OrderEvent]) -> Story:
    """The story that events tell, in the order of their sequences; types that are not known change nothing."""
    story = Story()
    for event in events:
        if event.type.startswith("stepward.step."):
            _tell_step(story, event.type.rpartition(".")[2], event.data)
        elif event.type in AFTER:
            _tell_task(story, AFTER[event.type], event.data)
    return story


def _tell_task(story: Story, state: StoryState, data: dict[str, Any]) -> None:
    story.state = state
    if state is StoryState.WORKING:
        story.trouble = None
    elif state is StoryState.DELIVERED:
        story.tracking = str(data.get("result") or "")


def _tell_step(story: Story, happened: str, data: dict[str, Any]) -> None:
    name = str(data.get("name", ""))
    match happened:
        case "completed":
            story.done[name] = story.done.get(name, 0) + 1
            story.trouble = None
            after = StoryState.WORKING
        case "delayed" | "failed":
            story.trouble = Trouble(str(data.get("step", "")), name, happened == "failed", _status(data))
            after = StoryState.DELAYED if happened == "delayed" else story.state
        case _:
            return
    story.money = _money(story.money, name, happened)
    if story.state in GOING_ON:
        story.state = after


def _money(money: Money, name: str, happened: str) -> Money:
    if name != CHARGE or happened == "failed":
        return money
    return Money.TAKEN if happened == "completed" else Money.IN_DOUBT


def _status(data: dict[str, Any]) -> int | None:
    error = data.get("error")
    more = error.get("data") if isinstance(error, dict) else None
    status = more.get("status") if isinstance(more, dict) else None
    return status if isinstance(status, int) else None
