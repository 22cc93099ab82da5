"""An order and its events, as the storefront keeps them."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any

import msgspec

from examples.orders.catalogue import PRODUCTS


class Care(StrEnum):
    """What the customer wants done with an order that will not go through."""

    NORMAL = "normal"  # take everything back
    PATIENT = "patient"  # wait, for as long as it makes sense
    PERSONAL = "personal"  # have a person look at it


class OrderItem(msgspec.Struct, frozen=True):
    """So many of one product."""

    product: str
    quantity: int

    @property
    def name(self) -> str:
        """What the shelf calls it; its id once it is sold no more."""
        product = PRODUCTS.get(self.product)
        return self.product if product is None else product.name

    @property
    def amount_cents(self) -> int:
        """What the line costs today."""
        return PRODUCTS[self.product].price_cents * self.quantity


class PlacedOrder(msgspec.Struct, frozen=True, kw_only=True):
    """One order of one visitor; the amount is what the customer was shown."""

    id: str
    visitor: str
    customer: str
    address: str
    care: Care
    lines: tuple[OrderItem, ...]
    amount_cents: int
    placed_at: datetime
    is_posted: bool = False

    def message(self) -> dict[str, Any]:
        """The message to post; it has no price, which the storefront does not decide."""
        lines = [{"product": line.product, "quantity": line.quantity} for line in self.lines]
        return {"customer": self.customer, "lines": lines, "address": self.address, "care": self.care.value}


class OrderEvent(msgspec.Struct, frozen=True, kw_only=True):
    """One event that the storefront received about an order; sequences count from 1."""

    id: str
    sequence: int
    type: str
    time: datetime
    data: dict[str, Any]


def amount_of(lines: tuple[OrderItem, ...]) -> int:
    """What lines cost today, in cents."""
    return sum(line.amount_cents for line in lines)
