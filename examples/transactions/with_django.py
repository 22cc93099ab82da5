"""Django: what a view does. ``django.db.connection`` is the default database; ``connections["…"]`` is another one."""

from __future__ import annotations

from django.db import connection, transaction

from examples.transactions.shop import fulfil
from stepward import SyncClient
from stepward.sync import SyncTaskHandle


def place(client: SyncClient, order: str, product: str, quantity: int) -> SyncTaskHandle[str]:
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("insert into shop_order values (%s, %s, %s)", [order, product, quantity])
        handle = client.submit(fulfil, order, product, id=order, transaction=connection)
        if quantity < 1:
            raise ValueError("quantity: expected 1 or more")  # neither the row nor the task
    return handle
