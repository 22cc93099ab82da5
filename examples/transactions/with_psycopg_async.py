"""psycopg 3, asynchronous: rows and task in one transaction."""

from __future__ import annotations

import psycopg

from examples.transactions.shop import fulfil
from stepward import Client, TaskHandle


async def place(
    connection: psycopg.AsyncConnection, client: Client, order: str, product: str, quantity: int
) -> TaskHandle[str]:
    async with connection.transaction():
        await connection.execute("insert into shop_order values (%s, %s, %s)", (order, product, quantity))
        handle = await client.submit(fulfil, order, product, id=order, transaction=connection)
        if quantity < 1:
            raise ValueError("quantity: expected 1 or more")  # neither the row nor the task
    return handle
