"""The storefront behind its pages: it posts orders, and writes down what it hears of them."""

from __future__ import annotations

from collections.abc import AsyncIterable
from dataclasses import dataclass, field
from typing import Any, Protocol

from examples.shop.storefront.bell import ChangeNotice
from examples.shop.storefront.order import PlacedOrder
from examples.shop.storefront.records import Records
from examples.shop.storefront.view import View, view_of
from stepward import StatusEvent, StepwardError
from stepward.errors import CommitUnknown, StoreError, TransportError

QUEUE = "orders"


class Door(Protocol):
    """The storefront's only door to the rest of the shop; `stepward.Queues` is one."""

    async def post(self, queue: str, data: Any, *, id: str, reply_to: str) -> object:
        """Post a message under its id; it is durable when this returns."""
        ...

    def events(self, queue: str) -> AsyncIterable[StatusEvent]:
        """The status events of a response queue; an event is settled once the next is requested."""
        ...


class Taken(Exception):
    """The order's id is that of another visitor's order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Storefront:
    """One storefront under its name, which names its private response queue."""

    name: str
    door: Door
    records: Records
    bell: ChangeNotice = field(default_factory=ChangeNotice)

    @property
    def replies(self) -> str:
        """The response queue that only this storefront reads."""
        return f"replies.orders.{self.name}"

    async def place(self, order: PlacedOrder, visitor: str, *, empties_basket: bool) -> None:
        """Have a visitor's order done, once however often it is placed; what came first under its id counts.

        Raises Taken, and what the door raises when the message cannot be posted.
        """
        placed = self.records.begin(order)
        if placed.visitor != visitor:
            raise Taken(order.id)
        if not placed.is_posted:
            await self._post(placed)
            self.records.posted(placed, empties_basket=empties_basket)

    async def listen(self) -> None:
        """Write down every event, then wake the pages that wait for it; ends with the door."""
        async for event in self.door.events(self.replies):
            if self.records.tell(event):
                self.bell.ring(event.subject)

    async def _post(self, order: PlacedOrder) -> None:
        try:
            await self.door.post(QUEUE, order.message(), id=order.id, reply_to=self.replies)
        except StepwardError as error:
            # What surely did not arrive may be sent again with other words in it.
            if not is_in_doubt(error):
                self.records.forget(order.id)
            raise

    def view(self, order: PlacedOrder) -> View:
        """What there is to show of an order now."""
        return view_of(order, self.records.events(order.id))


def is_in_doubt(error: StepwardError) -> bool:
    """Whether a message may stand in the queue although posting it failed."""
    if isinstance(error, CommitUnknown) or isinstance(error.__cause__, CommitUnknown):
        return True
    # A broker may have taken what it did not confirm. Without a cause there was no connection to begin with.
    cause = error.__cause__
    return isinstance(error, TransportError) and cause is not None and not isinstance(cause, StoreError)
