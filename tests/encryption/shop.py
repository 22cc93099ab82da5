"""An application that carries one canary value wherever a payload can stand."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from stepward import (
    Accepted,
    Agent,
    App,
    Client,
    Encryption,
    Message,
    StepFailed,
    Supervision,
    Transaction,
    Unacceptable,
    Unrecoverable,
    current_step,
    side_effect,
    step,
    wait_for,
    workflow,
)
from stepward.client import TaskHandle

T = TypeVar("T")

CANARY = "canary-5b1c9e2f7d"
QUEUE = "replies.shop.web"
KEYS = Encryption("k1", {"k1": bytes(range(32))})

bank = Agent("bank")


@bank.operation()
async def pay(card: str) -> dict[str, str]:
    current_step().heartbeat({"seen": card})
    return {"receipt": card}


@pay.undo
async def refund(receipt: dict[str, str] | None, card: str) -> None:
    if receipt is not None and receipt["receipt"] != card:
        raise Unrecoverable("the receipt is another's")


@bank.operation()
async def refuse(card: str) -> None:
    raise Unrecoverable(f"no account for {card}", card=card)


@step()
def note(card: str) -> str:
    return f"noted {card}"


@workflow
async def child(card: str) -> str:
    return await note(card)


@workflow(supervision=Supervision(then="raise"))
async def order(card: str) -> dict[str, Any]:
    drawn = side_effect(lambda: card)
    paid = await pay(card)
    noted = await child(card)
    with contextlib.suppress(StepFailed):
        await refuse(card)
    signed = await wait_for("approved", type=str)
    return {"drawn": drawn, "paid": paid, "noted": noted, "signed": signed}


@workflow
async def failing(card: str) -> None:
    await pay(card)
    await refuse(card)


@workflow
async def broken(card: str) -> None:
    raise ValueError(f"a bug about {card}")


@workflow
async def undone(card: str) -> None:
    await pay(card)
    await wait_for("never")


async def accept(message: Message, transaction: Transaction) -> Accepted:
    """Takes an order; refuses the card "none"."""
    card = message.read(dict[str, str])["card"]
    if card.startswith("none "):
        raise Unacceptable(f"no such card: {card}")
    return Accepted(order, card)


def application(store: str, **settings: Any) -> App:
    """The application on that store."""
    app = App("shop", workflows=[order, child, failing, broken, undone], agents=[bank], store=store, **settings)
    app.submission("orders", accept=accept)
    app.schedule("nightly", child, "0 3 * * *", args=(CANARY,))
    return app


async def carry(client: Client, prefix: str = "") -> TaskHandle[dict[str, Any]]:
    """Send the canary through every kind of payload; the handle of the task that succeeds."""
    good = await client.submit(order, CANARY, id=f"{prefix}good", reply_to=QUEUE)
    await good.signal("approved", f"signed {CANARY}")
    await client.submit(failing, CANARY, id=f"{prefix}failing", reply_to=QUEUE)
    await client.submit(broken, CANARY, id=f"{prefix}broken")
    undo = await client.submit(undone, CANARY, id=f"{prefix}undone")
    result = await good.result(timeout=30)
    expected = {"drawn": CANARY, "paid": {"receipt": CANARY}, "noted": f"noted {CANARY}", "signed": f"signed {CANARY}"}
    assert result == expected
    await until(lambda: is_in(client, f"{prefix}failing", "error"))
    await until(lambda: is_in(client, f"{prefix}broken", "error"))
    await until(lambda: is_in(client, f"{prefix}undone", "waiting"))
    await undo.undo()
    await until(lambda: is_in(client, f"{prefix}undone", "undone"))
    return good


async def is_in(client: Client, id: str, state: str) -> bool:
    return (await client.task(id).status()).state == state


async def until(look: Callable[[], Awaitable[T]]) -> T:
    """What ``look`` gives once it is true, within 30 s."""
    async with asyncio.timeout(30):
        while not (found := await look()):  # noqa: ASYNC110  its cause sets no event of ours
            await asyncio.sleep(0.02)
    return found
