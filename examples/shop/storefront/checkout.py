"""The checkout form: what was typed, what it means, and what is wrong with it, field by field. Pure."""

from __future__ import annotations

import re

import msgspec

from examples.orders.catalogue import LONGEST_ADDRESS, LONGEST_NAME
from examples.shop.storefront.forms import Form
from examples.shop.storefront.order import Care, OrderItem, amount_of
from examples.shop.storefront.quantities import TypedLine, TypedLines, read_lines

ORDER_ID = re.compile(r"order-[a-z0-9-]{1,60}")
NO_ADDRESS = "no-address"


class Errors(msgspec.Struct, frozen=True, kw_only=True):
    """The errors of each field; empty where there are none."""

    order: str = ""
    lines: str = ""
    customer: str = ""
    address: str = ""
    care: str = ""


class Checkout(msgspec.Struct, frozen=True, kw_only=True):
    """One checkout form; its lines came with it (`is_direct`) or are those of the basket."""

    order: str
    lines: TypedLines
    is_direct: bool = False
    customer: str = ""
    address: str = ""
    care: str = Care.NORMAL.value
    has_no_address: bool = False
    errors: Errors = Errors()

    @property
    def amount_cents(self) -> int:
        """What it costs."""
        return amount_of(self.lines.lines)

    @property
    def is_wrong(self) -> bool:
        """Whether anything is."""
        return self.errors != Errors() or self.lines.is_wrong


def blank(order: str, basket: tuple[OrderItem, ...]) -> Checkout:
    """An empty form."""
    return Checkout(order=order, lines=_of_basket(basket))


def read_checkout(form: Form, basket: tuple[OrderItem, ...]) -> Checkout:
    """A form that was filled in."""
    is_direct = "product" in form or "quantity" in form
    typed = Checkout(
        order=form.get("order", ""),
        lines=_direct(form) if is_direct else _of_basket(basket),
        is_direct=is_direct,
        customer=_one_line(form.get("customer", "")),
        address=_one_line(form.get("address", "")),
        care=form.get("care", ""),
        has_no_address=form.get("confirm") == NO_ADDRESS,
    )
    errors = Errors(
        order=_wrong_with_order(typed.order),
        lines=_wrong_with_lines(typed, form.get("seen")),
        customer=_wrong_with_text(typed.customer, LONGEST_NAME, "Please tell us your name."),
        address=_wrong_with_address(typed),
        care="" if typed.care in list(Care) else "Please choose one of these.",
    )
    return msgspec.structs.replace(typed, errors=errors)


def _direct(form: Form) -> TypedLines:
    products, quantities = form.getlist("product"), form.getlist("quantity")
    if len(products) != len(quantities):
        return TypedLines(error="Each product needs one quantity: we could not tell which belongs to which.")
    return read_lines(zip(products, quantities, strict=True))


def _of_basket(basket: tuple[OrderItem, ...]) -> TypedLines:
    return TypedLines(tuple(TypedLine(line.product, str(line.quantity)) for line in basket), basket)


def _one_line(text: str) -> str:
    """Text with its lines joined and its spaces collapsed."""
    lines = (" ".join(line.split()) for line in text.splitlines())
    return ", ".join(line.rstrip(",") for line in lines if line)


def _wrong_with_order(order: str) -> str:
    return (
        "" if ORDER_ID.fullmatch(order) else "This form had no valid order number. It has a new one now: send it again."
    )


def _wrong_with_lines(typed: Checkout, seen: str | None) -> str:
    if typed.lines.is_wrong:
        return typed.lines.error
    if not typed.lines.lines:
        return "There is nothing in your basket."
    if seen is not None and seen != str(typed.amount_cents):
        return "Your basket has changed since you opened this page. Please look at it again."
    return ""


def _wrong_with_text(text: str, longest: int, missing: str) -> str:
    if not text:
        return missing
    if not text.isprintable():
        return "Letters, digits and punctuation only, please."
    if len(text) > longest:
        return f"At most {longest} characters, please."
    return ""


def _wrong_with_address(typed: Checkout) -> str:
    if not typed.address and typed.has_no_address:
        return ""
    return _wrong_with_text(typed.address, LONGEST_ADDRESS, "Please tell us where the parcel goes.")
