"""The books: what the remote services themselves say that they did, for whom, and how often they were asked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from examples.shop.services.faults import StandingFault
from servers.ledger import Effect


class OrderBook(msgspec.Struct, frozen=True, kw_only=True):
    """One service's book: its effects, the calls that each key came with, the faults that it had."""

    effects: list[Effect]
    deliveries: dict[str, int]
    faults: list[StandingFault]

    def done(self, action: str, order_id: str) -> list[Effect]:
        """The effects of an order, whether or not they were undone."""
        return [e for e in self.effects if e.action == action and e.order_id == order_id]

    def kept(self, action: str, order_id: str) -> list[Effect]:
        """The effects of an order that were not undone."""
        taken_back = {effect.undoes for effect in self.effects}
        return [e for e in self.done(action, order_id) if e.key not in taken_back]

    def calls(self, effects: Iterable[Effect]) -> int:
        """How often the keys of these effects arrived."""
        return sum(self.deliveries.get(effect.key, 0) for effect in effects)


class OrderBooks(msgspec.Struct, frozen=True, kw_only=True):
    """The books of all four services."""

    stock: OrderBook
    payment: OrderBook
    parcel: OrderBook
    mail: OrderBook

    def by_service(self) -> Mapping[str, OrderBook]:
        """Each book by the name of its service."""
        return {name: getattr(self, name) for name in self.__struct_fields__}
