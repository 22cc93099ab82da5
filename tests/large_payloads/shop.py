"""An application that carries large values wherever a payload can stand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stepward import (
    Accepted,
    Agent,
    App,
    Message,
    Supervision,
    Transaction,
    Unrecoverable,
    current_task,
    step,
    wait_for,
    workflow,
)

OVER = 1024
SIZE = 5_000

bank = Agent("bank")


def large(mark: str) -> str:
    """A text that is larger than what stays in the store, and that begins with ``mark``."""
    return f"{mark}:" + "x" * SIZE


@bank.operation()
async def pay(card: str) -> str:
    return large(f"paid {card[:4]}")


@pay.undo
async def refund(receipt: str | None, card: str) -> None:
    if receipt is not None and (not receipt.startswith("paid ") or len(receipt) < SIZE or len(card) < SIZE):
        raise Unrecoverable("expected the receipt and the card whole")


@bank.operation()
async def refuse(card: str) -> None:
    raise Unrecoverable("no account", card=card)


@step()
def note(card: str) -> str:
    return large(f"noted {card[:4]}")


@step(transaction=True)
async def keep(transaction: Transaction, card: str) -> str:
    return large(f"kept {card[:4]}")


@workflow
async def child(card: str) -> str:
    return await note(card)


@workflow
async def order(card: str) -> dict[str, Any]:
    paid = await pay(card)
    noted = await child(card)
    kept = await keep(card)
    signed = await wait_for("approved", type=str)
    return {"paid": paid, "noted": noted, "kept": kept, "signed": signed, "id": current_task().id}


@workflow(supervision=Supervision(then="alert"))
async def failing(card: str) -> None:
    await pay(card)
    await refuse(card)


@workflow
async def waiting(card: str) -> str:
    paid = await pay(card)
    await wait_for("go")
    return paid


async def accept(message: Message, transaction: Transaction) -> Accepted:
    """Takes an order."""
    return Accepted(order, message.read(dict[str, str])["card"])


def application(store: str | Sequence[str], address: str | None, **settings: Any) -> App:
    """The application on that store, whose large payloads are kept at that address."""
    app = App(
        "shop",
        workflows=[order, child, failing, waiting],
        agents=[bank],
        store=store,
        large_payloads=address,
        large_payload_bytes=OVER,
        **settings,
    )
    app.submission("orders", accept=accept)
    return app
