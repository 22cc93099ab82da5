"""SQLAlchemy 2 Core, blocking: rows and task in one transaction, whatever the driver below."""

from __future__ import annotations

from sqlalchemy import Column, Engine, Integer, MetaData, Table, Text, insert

from examples.transactions.shop import fulfil
from stepward import SyncClient
from stepward.sync import SyncTaskHandle

orders = Table(
    "shop_order",
    MetaData(),
    Column("id", Text, primary_key=True),
    Column("product", Text, nullable=False),
    Column("quantity", Integer, nullable=False),
)


def place(engine: Engine, client: SyncClient, order: str, product: str, quantity: int) -> SyncTaskHandle[str]:
    with engine.begin() as connection:
        connection.execute(insert(orders).values(id=order, product=product, quantity=quantity))
        handle = client.submit(fulfil, order, product, id=order, transaction=connection)
        if quantity < 1:
            raise ValueError("quantity: expected 1 or more")  # neither the row nor the task
    return handle
