"""An outbox: the orders are in a database of their own, here an SQLite file, and the store is elsewhere."""

from __future__ import annotations

import sqlite3

from examples.transactions.shop import TABLE, fulfil, shop
from stepward import App, SyncOutbox
from stepward.outbox import outbox_table

outbox = SyncOutbox("shop")


def set_up(connection: sqlite3.Connection) -> None:
    """The tables; in an application this belongs into its migrations."""
    connection.executescript(f"{TABLE}; {outbox_table('sqlite')}")


def place(connection: sqlite3.Connection, order: str, product: str, quantity: int) -> str:
    with connection:  # commits, or rolls back
        connection.execute("insert into shop_order values (?, ?, ?)", (order, product, quantity))
        task = outbox.put(connection, fulfil, order, product, id=order)
        if quantity < 1:
            raise ValueError("quantity: expected 1 or more")  # neither the row nor the task
    return task


def relayed_shop(store: str, orders: str) -> App:
    """The application; ``stepward run``, or ``stepward submission``, carries its outbox over."""
    app = shop(store)
    app.relay(orders)
    return app
