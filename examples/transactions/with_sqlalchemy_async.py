"""SQLAlchemy 2, asynchronous: Core and ORM."""

from __future__ import annotations

from sqlalchemy import insert
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession

from examples.transactions.shop import fulfil
from examples.transactions.with_sqlalchemy import orders
from examples.transactions.with_sqlalchemy_session import OrderEntity
from stepward import Client, TaskHandle


async def place(engine: AsyncEngine, client: Client, order: str, product: str, quantity: int) -> TaskHandle[str]:
    async with engine.begin() as connection:
        await connection.execute(insert(orders).values(id=order, product=product, quantity=quantity))
        handle = await client.submit(fulfil, order, product, id=order, transaction=connection)
        if quantity < 1:
            raise ValueError("quantity: expected 1 or more")  # neither the row nor the task
    return handle


async def place_object(engine: AsyncEngine, client: Client, order: str, product: str, quantity: int) -> TaskHandle[str]:
    async with AsyncSession(engine) as session, session.begin():
        session.add(OrderEntity(id=order, product=product, quantity=quantity))
        handle = await client.submit(fulfil, order, product, id=order, transaction=session)
        if quantity < 1:
            raise ValueError("quantity: expected 1 or more")  # neither the row nor the task
    return handle
