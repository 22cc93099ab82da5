"""Lines as customers type them, read into lines of an order or a word about what is wrong. Pure."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from examples.orders.catalogue import MOST_LINES, MOST_OF_ONE, PRODUCTS
from examples.shop.storefront.order import OrderItem

LONGEST_TYPED = 40


class TypedLine(msgspec.Struct, frozen=True):
    """A quantity of one product as it was typed, and what is wrong with it."""

    product: str
    quantity: str
    error: str = ""


class TypedLines(msgspec.Struct, frozen=True):
    """Lines as typed; `error` is about all of them. `lines` is what they mean when nothing is wrong."""

    typed: tuple[TypedLine, ...] = ()
    lines: tuple[OrderItem, ...] = ()
    error: str = ""

    @property
    def is_wrong(self) -> bool:
        """Whether anything is."""
        return bool(self.error) or any(line.error for line in self.typed)


def read_lines(typed: Iterable[tuple[str, str]]) -> TypedLines:
    """Products with quantities as typed; a product that is named twice is added up."""
    read = [TypedLine(product, quantity.strip()[:LONGEST_TYPED]) for product, quantity in typed]
    unknown = [line.product for line in read if line.product not in PRODUCTS]
    known = tuple(_checked(line) for line in read if line.product in PRODUCTS)[:MOST_LINES]
    if unknown:
        return TypedLines(known, error=f"We do not sell “{unknown[0][:LONGEST_TYPED]}”: we left it out.")
    if len(read) > MOST_LINES:
        return TypedLines(known, error=f"At most {MOST_LINES} lines make one order; yours has {len(read)}.")
    return _added_up(known)


def read_quantity(typed: str, *, least: int = 1) -> int | str:
    """The quantity, or what is wrong with it."""
    text = typed.strip()
    # A long run of digits is no number to convert, only too much.
    if text.isascii() and text.isdigit() and len(text) <= LONGEST_TYPED and least <= int(text) <= MOST_OF_ONE:
        return int(text)
    return f"A whole number from {least} to {MOST_OF_ONE}, please."


def _checked(line: TypedLine) -> TypedLine:
    read = read_quantity(line.quantity)
    return line if isinstance(read, int) else TypedLine(line.product, line.quantity, read)


def _added_up(known: tuple[TypedLine, ...]) -> TypedLines:
    if any(line.error for line in known):
        return TypedLines(known)
    quantities: dict[str, int] = {}
    for line in known:
        quantities[line.product] = quantities.get(line.product, 0) + int(line.quantity)
    for product, quantity in quantities.items():
        if quantity > MOST_OF_ONE:
            name = PRODUCTS[product].name
            return TypedLines(known, error=f"At most {MOST_OF_ONE} of one thing; you asked for {quantity} × {name}.")
    return TypedLines(known, tuple(OrderItem(*item) for item in quantities.items()))
