"""The stock service: reserves a product for an order as long as there is enough of it."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from functools import partial

from examples.orders.catalogue import PRODUCTS
from examples.shop.services.problem import Problem
from examples.shop.services.service import PositiveCount, Service, ServiceDetails, ServiceOrderBody, ShortText

INITIAL_QUANTITIES: Mapping[str, int] = dict.fromkeys(PRODUCTS, 100) | {"anvil": 0}
"""So many of each at first; anvils are always just sold out."""


class Reserve(ServiceOrderBody, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to put aside for an order."""

    product: ShortText
    quantity: PositiveCount


def stock(quantities: Mapping[str, int] = INITIAL_QUANTITIES) -> Service:
    """The stock service over these quantities; a ledger that knows a product already keeps its own count."""
    return Service(
        name="stock",
        action="reserve",
        body=Reserve,
        reference="reservation_id",
        undo="release",
        prepare=partial(_fill, quantities),
        take=_take,
        give_back=_give_back,
    )


def _fill(quantities: Mapping[str, int], connection: sqlite3.Connection) -> None:
    connection.execute(
        "CREATE TABLE IF NOT EXISTS shelf"
        " (product TEXT PRIMARY KEY, quantity INTEGER NOT NULL CHECK (quantity >= 0)) STRICT"
    )
    connection.executemany("INSERT OR IGNORE INTO shelf VALUES (?, ?)", quantities.items())


def _take(connection: sqlite3.Connection, details: ServiceDetails) -> None:
    taken = connection.execute(
        "UPDATE shelf SET quantity = quantity - :quantity WHERE product = :product AND quantity >= :quantity",
        details,
    )
    if not taken.rowcount:
        detail = f"fewer than {details['quantity']} of {details['product']!r} are left"
        raise Problem(409, "not enough stock", detail)


def _give_back(connection: sqlite3.Connection, details: ServiceDetails) -> None:
    connection.execute("UPDATE shelf SET quantity = quantity + :quantity WHERE product = :product", details)
