"""The shop: what is done with an order once it is placed. Its table stands in the database of the store."""

from __future__ import annotations

from stepward import App, workflow

TABLE = "create table if not exists shop_order (id text primary key, product text not null, quantity int not null)"


@workflow
async def fulfil(order: str, product: str) -> str:
    return f"{product} for {order} is on its way"


def shop(store: str) -> App:
    """The application, on the PostgreSQL database of that address."""
    return App("shop", workflows=[fulfil], store=store)
