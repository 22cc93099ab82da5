"""The storefront's own SQLite file: baskets, orders and their events. Each public method is one transaction.

It is called on the event loop: a commit takes about as long as a hop to a thread and back. Every commit is on
disk before it returns, because an event that was stored is never delivered again.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from examples.orders.catalogue import PRODUCTS
from examples.shop.storefront.order import OrderEvent, OrderItem, PlacedOrder
from stepward import StatusEvent

SCHEMA = Path(__file__).with_name("schema.sql")
MOST_ORDERS = 100
KEPT_BASKET_DAYS = 30

COLUMNS = ", ".join(PlacedOrder.__struct_fields__)
PLACES = ", ".join(f":{name}" for name in PlacedOrder.__struct_fields__)
NEWEST = f"SELECT {COLUMNS} FROM placed_order WHERE visitor = ? AND is_posted ORDER BY placed_at DESC, id LIMIT ?"
SET_LINE = """
    INSERT INTO basket_line (visitor, product, quantity) VALUES (?, ?, ?)
    ON CONFLICT DO UPDATE SET quantity = excluded.quantity, changed_at = excluded.changed_at
"""
POSTED = f"""
    INSERT INTO placed_order ({COLUMNS}) VALUES ({PLACES})
    ON CONFLICT DO UPDATE SET is_posted = excluded.is_posted
"""
TOLD = """
    INSERT INTO order_event (order_id, sequence, id, type, time, data)
    VALUES (:order_id, :sequence, :id, :type, :time, :data) ON CONFLICT DO NOTHING
"""


class Records:
    """What the storefront remembers."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # SQLite gives the files beside it the same rights.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        self._connection = sqlite3.connect(path, isolation_level=None)
        self._connection.row_factory = sqlite3.Row
        for setting in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON"):
            self._connection.execute(f"PRAGMA {setting}")
        self._connection.executescript(SCHEMA.read_text(encoding="utf-8"))
        self._connection.execute(
            "DELETE FROM basket_line WHERE changed_at < datetime('now', ?)", (f"-{KEPT_BASKET_DAYS} days",)
        )

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def basket(self, visitor: str) -> tuple[OrderItem, ...]:
        """The items of a visitor's basket that are still on the shelf, in the shelf's order."""
        rows = self._connection.execute("SELECT product, quantity FROM basket_line WHERE visitor = ?", (visitor,))
        quantities: dict[str, int] = dict(rows.fetchall())
        return tuple(OrderItem(product, quantities[product]) for product in PRODUCTS if product in quantities)

    def set_basket(self, visitor: str, quantities: Mapping[str, int]) -> None:
        """Have so many of these products in the basket; 0 takes one out, others stay."""
        with self._transaction():
            for product, quantity in quantities.items():
                if quantity:
                    self._connection.execute(SET_LINE, (visitor, product, quantity))
                else:
                    self._connection.execute(
                        "DELETE FROM basket_line WHERE visitor = ? AND product = ?", (visitor, product)
                    )

    def begin(self, order: PlacedOrder) -> PlacedOrder:
        """Write an order down before it is posted; the order as it stands, if one of that id does already."""
        with self._transaction():
            self._connection.execute(
                f"INSERT INTO placed_order ({COLUMNS}) VALUES ({PLACES}) ON CONFLICT DO NOTHING", _row(order)
            )
        return self.order(order.id) or order

    def posted(self, order: PlacedOrder, *, empties_basket: bool) -> None:
        """Note that the order's message stands in the queue."""
        with self._transaction():
            self._connection.execute(POSTED, {**_row(order), "is_posted": True})
            if empties_basket:
                self._connection.execute("DELETE FROM basket_line WHERE visitor = ?", (order.visitor,))

    def forget(self, order_id: str) -> None:
        """Forget an order whose message was surely not posted."""
        self._connection.execute("DELETE FROM placed_order WHERE id = ? AND NOT is_posted", (order_id,))

    def order(self, order_id: str) -> PlacedOrder | None:
        """The order of that id, whosever it is."""
        row = self._connection.execute(f"SELECT {COLUMNS} FROM placed_order WHERE id = ?", (order_id,)).fetchone()
        return None if row is None else _order(row)

    def orders(self, visitor: str) -> list[PlacedOrder]:
        """A visitor's orders, newest first."""
        return [_order(row) for row in self._connection.execute(NEWEST, (visitor, MOST_ORDERS))]

    def tell(self, event: StatusEvent) -> bool:
        """Record an event of an order; False if it was known, or the order is not ours."""
        with self._transaction():
            # Any event of an order proves that its message arrived.
            ours = self._connection.execute("UPDATE placed_order SET is_posted = 1 WHERE id = ?", (event.subject,))
            return bool(ours.rowcount) and bool(self._connection.execute(TOLD, _told(event)).rowcount)

    def events(self, order_id: str) -> list[OrderEvent]:
        """The events of an order, in order."""
        rows = self._connection.execute(
            "SELECT id, sequence, type, time, data FROM order_event WHERE order_id = ? ORDER BY sequence", (order_id,)
        )
        return [
            msgspec.convert({**row, "data": msgspec.json.decode(row["data"])}, OrderEvent) for row in map(dict, rows)
        ]

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        with self._connection:
            yield


def _row(order: PlacedOrder) -> dict[str, Any]:
    lines = msgspec.json.encode(order.lines).decode()
    return {**msgspec.structs.asdict(order), "lines": lines, "placed_at": order.placed_at.isoformat()}


def _order(row: sqlite3.Row) -> PlacedOrder:
    return msgspec.convert({**dict(row), "lines": msgspec.json.decode(row["lines"])}, PlacedOrder, strict=False)


def _told(event: StatusEvent) -> dict[str, Any]:
    return {
        "order_id": event.subject,
        "sequence": event.sequence,
        "id": event.id,
        "type": event.type,
        "time": event.time.isoformat(),
        "data": msgspec.json.encode(event.data).decode(),
    }
