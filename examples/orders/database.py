"""The orders database: the shop's own table, read and written inside transactions that Stepward hands out."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path

import msgspec

from stepward.store.contract import StepTransaction

SCHEMA = Path(__file__).with_name("schema.sql")


class OrderState(StrEnum):
    """Where an order stands, in the shop's words."""

    PENDING = "Pending"
    PROCESSING = "Processing"
    PROCESSED = "Processed"
    UNDONE = "Undone"
    CANCELLED = "Cancelled"
    ERROR = "Error"


class Care(StrEnum):
    """What the shop does for an order that will not go through; each has a workflow of its own."""

    NORMAL = "normal"  # take everything back
    PATIENT = "patient"  # wait, for as long as it makes sense
    PERSONAL = "personal"  # ask an operator


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """One row of the table."""

    id: str
    customer: str
    product: str
    quantity: int
    amount_cents: int
    address: str
    care: Care = Care.NORMAL
    state: OrderState = OrderState.PENDING
    tracking: str | None = None


COLUMNS = ", ".join(Order.__struct_fields__)
PLACES = ", ".join("?" for _ in Order.__struct_fields__)


async def create_table(transaction: StepTransaction) -> None:
    """Make the table, unless there is one."""
    await transaction.execute(SCHEMA.read_text(encoding="utf-8"))


async def insert_order(transaction: StepTransaction, order: Order) -> None:
    """Insert an order; one that is there already stays as it is."""
    await transaction.execute(
        f"INSERT INTO customer_order ({COLUMNS}) VALUES ({PLACES}) ON CONFLICT DO NOTHING",
        msgspec.structs.astuple(order),
    )


async def read_order(transaction: StepTransaction, order_id: str) -> Order:
    """The order of that id; raises `LookupError`."""
    rows = await transaction.execute(f"SELECT {COLUMNS} FROM customer_order WHERE id = ?", (order_id,))
    if not rows:
        raise LookupError(f"order {order_id!r}: expected one that was placed, found none")
    return _order(rows[0])


async def read_orders(transaction: StepTransaction) -> list[Order]:
    """Every order."""
    return [_order(row) for row in await transaction.execute(f"SELECT {COLUMNS} FROM customer_order ORDER BY id")]


async def set_state(transaction: StepTransaction, order_id: str, state: OrderState) -> None:
    """Write where the order stands."""
    await transaction.execute("UPDATE customer_order SET state = ? WHERE id = ?", (state, order_id))


async def set_tracking(transaction: StepTransaction, order_id: str, tracking: str) -> None:
    """Write by which number the parcel is followed."""
    await transaction.execute("UPDATE customer_order SET tracking = ? WHERE id = ?", (tracking, order_id))


async def set_address(transaction: StepTransaction, order_id: str, address: str) -> None:
    """Correct the address."""
    await transaction.execute("UPDATE customer_order SET address = ? WHERE id = ?", (address, order_id))


def _order(row: tuple[object, ...]) -> Order:
    return msgspec.convert(dict(zip(Order.__struct_fields__, row, strict=True)), Order)
