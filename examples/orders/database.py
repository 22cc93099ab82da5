"""The orders database: the shop's own table, read and written inside transactions that Stepward hands out.

The SQL is what SQLite and PostgreSQL have in common. Places are written `$1`, `$2`, … in the order in which they first
occur: PostgreSQL takes them for numbers, SQLite for names that it numbers in that order.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import msgspec

from examples.orders.catalogue import MOST_OF_ONE
from stepward import StepTransaction

SCHEMA = Path(__file__).with_name("schema.sql").read_text(encoding="utf-8")


class OrderState(StrEnum):
    """Where an order stands, in the shop's words."""

    PENDING = "Pending"
    PROCESSING = "Processing"
    PROCESSED = "Processed"
    UNDONE = "Undone"
    CANCELLED = "Cancelled"
    ERROR = "Error"


class OrderCare(StrEnum):
    """What the shop does for an order that will not go through; each has a workflow of its own."""

    NORMAL = "normal"  # take everything back
    PATIENT = "patient"  # wait, for as long as it makes sense
    PERSONAL = "personal"  # ask an operator


class OrderLine(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """So many of one product."""

    product: str
    quantity: Annotated[int, msgspec.Meta(ge=1, le=MOST_OF_ONE)]


class OrderRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One row of the table; its lines stand in it as JSON."""

    id: str
    customer: str
    lines: tuple[OrderLine, ...]
    amount_cents: int
    address: str
    care: OrderCare = OrderCare.NORMAL
    state: OrderState = OrderState.PENDING
    tracking: str | None = None


class OpenOrder(msgspec.Struct, frozen=True):
    """Where an order stands whose books are not closed: its task may not have ended."""

    id: str
    state: OrderState
    closed: bool = False


COLUMNS = ", ".join(OrderRecord.__struct_fields__)
PLACES = ", ".join(f"${number}" for number, _ in enumerate(OrderRecord.__struct_fields__, start=1))


async def create_table(transaction: StepTransaction) -> None:
    """Make the table, unless there is one."""
    await transaction.execute(SCHEMA)


async def insert_order(transaction: StepTransaction, order: OrderRecord) -> bool:
    """Insert an order; False if there is one of its id, which stays as it is."""
    inserted = await transaction.execute(
        f"INSERT INTO customer_order ({COLUMNS}) VALUES ({PLACES}) ON CONFLICT DO NOTHING RETURNING id",
        [_value(each) for each in msgspec.structs.astuple(order)],
    )
    return bool(inserted)


async def read_order(transaction: StepTransaction, order_id: str) -> OrderRecord:
    """The order of that id; raises `LookupError`."""
    rows = await transaction.execute(f"SELECT {COLUMNS} FROM customer_order WHERE id = $1", (order_id,))
    if not rows:
        raise LookupError(f"order {order_id!r}: expected one that was placed, found none")
    return _order(rows[0])


async def read_orders(transaction: StepTransaction) -> list[OrderRecord]:
    """Every order."""
    return [_order(row) for row in await transaction.execute(f"SELECT {COLUMNS} FROM customer_order ORDER BY id")]


async def read_open(transaction: StepTransaction, limit: int, after: str = "") -> list[OpenOrder]:
    """Orders that are not closed, by their ids, from the one that follows `after`."""
    rows = await transaction.execute(
        "SELECT id, state FROM customer_order WHERE closed = 0 AND id > $1 ORDER BY id LIMIT $2", (after, limit)
    )
    return [OpenOrder(order_id, OrderState(state)) for order_id, state in rows]


async def note(transaction: StepTransaction, order: OpenOrder) -> None:
    """Write where an open order stands, and whether that is final."""
    await transaction.execute(
        "UPDATE customer_order SET state = $1, closed = $2 WHERE id = $3", (order.state, int(order.closed), order.id)
    )


async def set_state(transaction: StepTransaction, order_id: str, state: OrderState) -> None:
    """Write where the order stands."""
    await transaction.execute("UPDATE customer_order SET state = $1 WHERE id = $2", (state, order_id))


async def set_tracking(transaction: StepTransaction, order_id: str, tracking: str) -> None:
    """Write by which number the parcel is followed."""
    await transaction.execute("UPDATE customer_order SET tracking = $1 WHERE id = $2", (tracking, order_id))


async def set_address(transaction: StepTransaction, order_id: str, address: str) -> None:
    """Correct the address."""
    await transaction.execute("UPDATE customer_order SET address = $1 WHERE id = $2", (address, order_id))


def _value(field: object) -> object:
    return msgspec.json.encode(field).decode() if isinstance(field, tuple) else field


def _order(row: tuple[Any, ...]) -> OrderRecord:
    fields = dict(zip(OrderRecord.__struct_fields__, row, strict=True))
    return msgspec.convert(fields | {"lines": msgspec.json.decode(fields["lines"])}, OrderRecord)
