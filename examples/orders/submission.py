"""The submission process's part that is the shop's own: what an order must be, what it costs, and its row.

It runs in the transaction that inserts the task, so that an order and its task exist both or neither.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import msgspec

from examples.orders import database
from examples.orders.catalogue import LONGEST_ADDRESS, LONGEST_NAME, MOST_LINES, PRODUCTS
from examples.orders.database import OrderCare, OrderLine, OrderRecord
from examples.orders.workflows import WORKFLOWS
from stepward import Accepted, Message, StepTransaction, Unacceptable

QUEUE = "orders"


class OrderBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a message says of an order; what it costs is not for the customer to say."""

    customer: Annotated[str, msgspec.Meta(min_length=1, max_length=LONGEST_NAME)]
    lines: Annotated[tuple[OrderLine, ...], msgspec.Meta(min_length=1, max_length=MOST_LINES)]
    address: Annotated[str, msgspec.Meta(max_length=LONGEST_ADDRESS)]
    care: OrderCare = OrderCare.NORMAL


async def accept(message: Message, transaction: StepTransaction) -> Accepted:
    """Insert the order that the message describes, and ask for the workflow that its care has."""
    body = message.read(OrderBody)
    order = OrderRecord(
        id=message.id,
        customer=body.customer,
        lines=body.lines,
        amount_cents=price_cents(body.lines),
        address=body.address,
        care=body.care,
    )
    await database.create_table(transaction)
    if not await database.insert_order(transaction, order):
        # Its task is gone with time: a second one would charge the customer again.
        raise Unacceptable(f"order {order.id}: expected a new one, found one that was placed before")
    return Accepted(WORKFLOWS[order.care], order.id, labels={"customer": order.customer})


def price_cents(lines: Sequence[OrderLine]) -> int:
    """What the lines cost by the catalogue. Raises Unacceptable for a product that it does not have."""
    return sum(_product_cents(line.product) * line.quantity for line in lines)


def _product_cents(product: str) -> int:
    if product not in PRODUCTS:
        raise Unacceptable(f"product: expected one of {', '.join(PRODUCTS)}, found {product[:60]!r}")
    return PRODUCTS[product].price_cents
