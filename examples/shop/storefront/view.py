"""The view of an order: its story as five stages and the words beside them, ready to be shown. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

import msgspec

from examples.shop.storefront.order import OrderEvent, PlacedOrder
from examples.shop.storefront.story import CHARGE, FINAL, PARCEL, STOCK, TAKEN_BACK, Story, StoryState, tell
from examples.shop.storefront.words import BADGES, HEADLINES, say


class Mark(StrEnum):
    """How a stage stands."""

    TODO = "to come"
    CURRENT = "in progress"
    DELAYED = "delayed"
    DONE = "done"
    FAILED = "not possible"
    RETURNING = "being taken back"
    RETURNED = "taken back"
    SKIPPED = "not done"


class OrderStage(msgspec.Struct, frozen=True):
    """One of the five stages that a customer sees."""

    name: str
    mark: Mark


class View(msgspec.Struct, frozen=True, kw_only=True):
    """All that an order page says; `sequence` is that of the newest event in it."""

    state: StoryState
    badge: str
    headline: str
    note: str
    stages: tuple[OrderStage, ...]
    sequence: int
    is_final: bool


NAMES = ("Order received", "Goods put aside", "Payment taken", "Parcel booked", "On its way")
DOING = (
    "We are reading your order.",
    "We are putting your goods aside.",
    "We are taking your payment.",
    "We are booking a parcel for you.",
    "We are handing your parcel over.",
    "",
)
ARRIVED = "Delivered to the parcel service"
MARK_HERE = {StoryState.DELAYED: Mark.DELAYED, StoryState.FAILED: Mark.FAILED}


def view_of(order: PlacedOrder, events: Sequence[OrderEvent]) -> View:
    """What to show of an order after these events."""
    story = tell(events)
    reached = _reached(story, order)
    return View(
        state=story.state,
        badge=BADGES.get(story.state, story.state.value),
        headline=HEADLINES[story.state],
        note=say(story, order, _doing(story, order, reached)),
        stages=tuple(OrderStage(_name(story, at), _mark(story, at, reached)) for at in range(len(NAMES))),
        sequence=events[-1].sequence if events else 0,
        is_final=story.state in FINAL,
    )


def _reached(story: Story, order: PlacedOrder) -> int:
    """How many stages are done."""
    done = (
        story.state not in (StoryState.SENT, StoryState.REFUSED),
        story.done.get(STOCK, 0) >= len(order.lines),
        CHARGE in story.done,
        PARCEL in story.done,
        story.state is StoryState.DELIVERED,
    )
    return max((at for at, is_done in enumerate(done, start=1) if is_done), default=0)


def _doing(story: Story, order: PlacedOrder, reached: int) -> str:
    aside = story.done.get(STOCK, 0)
    if reached == 1 and aside:
        return f"We are putting your goods aside: {aside} of {len(order.lines)} done."
    return DOING[reached]


def _name(story: Story, at: int) -> str:
    if at < len(NAMES) - 1 or story.state is not StoryState.DELIVERED:
        return NAMES[at]
    return f"{ARRIVED} · tracking {story.tracking}" if story.tracking else ARRIVED


def _mark(story: Story, at: int, reached: int) -> Mark:
    if at < reached:
        return _mark_done(story, at)
    if story.state in TAKEN_BACK or story.state is StoryState.REFUSED:
        return Mark.FAILED if at == reached and story.trouble is not None else Mark.SKIPPED
    if at == reached:
        return MARK_HERE.get(story.state, Mark.CURRENT)
    return Mark.TODO


def _mark_done(story: Story, at: int) -> Mark:
    # That we received the order cannot be taken back.
    if at == 0 or story.state not in TAKEN_BACK:
        return Mark.DONE
    return Mark.RETURNING if story.state is StoryState.UNDOING else Mark.RETURNED
