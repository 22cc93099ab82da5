"""psycopg 3, blocking: rows and task in one transaction, everything in this thread."""

from __future__ import annotations

import psycopg

from examples.transactions.shop import fulfil
from stepward import SyncClient
from stepward.sync import SyncTaskHandle


def place(
    connection: psycopg.Connection, client: SyncClient, order: str, product: str, quantity: int
) -> SyncTaskHandle[str]:
    with connection.transaction():
        connection.execute("insert into shop_order values (%s, %s, %s)", (order, product, quantity))
        handle = client.submit(fulfil, order, product, id=order, transaction=connection)
        if quantity < 1:
            raise ValueError("quantity: expected 1 or more")  # neither the row nor the task
    return handle
