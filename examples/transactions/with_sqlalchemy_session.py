"""SQLAlchemy 2 ORM, blocking: objects and task in one transaction."""

from __future__ import annotations

from sqlalchemy import Engine
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

from examples.transactions.shop import fulfil
from stepward import SyncClient
from stepward.sync import SyncTaskHandle


class Base(DeclarativeBase):
    pass


class OrderEntity(Base):
    __tablename__ = "shop_order"

    id: Mapped[str] = mapped_column(primary_key=True)
    product: Mapped[str]
    quantity: Mapped[int]


def place(engine: Engine, client: SyncClient, order: str, product: str, quantity: int) -> SyncTaskHandle[str]:
    with Session(engine) as session, session.begin():
        session.add(OrderEntity(id=order, product=product, quantity=quantity))
        handle = client.submit(fulfil, order, product, id=order, transaction=session)
        if quantity < 1:
            raise ValueError("quantity: expected 1 or more")  # neither the row nor the task
    return handle
