"""The application whose console is photographed: one workflow for each thing that its pages show."""

from __future__ import annotations

import asyncio
from typing import Any

from stepward import (
    Accepted,
    Agent,
    App,
    Backoff,
    CircuitBreaker,
    From,
    Given,
    Message,
    Pipeline,
    Retry,
    Stage,
    Supervision,
    Transaction,
    Unacceptable,
    current_step,
    wait_for,
    workflow,
)

stock = Agent("stock", concurrency=8)
payment = Agent(
    "payment", concurrency=16, retry=Retry(attempts=2, initial="200ms"), breaker=CircuitBreaker(failures=1_000)
)
parcel = Agent("parcel", concurrency=4)
mail = Agent("mail", concurrency=4)


class Outside:
    """The services outside, as the pictures need them."""

    is_bank_away = False
    """Whether the bank refuses connections."""
    held: asyncio.Event | None = None
    """While set and not yet fired, parcels are not sent."""


@stock.operation(complete_by="20s")
async def reserve(product: str) -> str:
    return f"R-{product}"


@reserve.undo
async def release(result: str | None, product: str) -> None: ...


@payment.operation(complete_by="20s")
async def charge(order: str, cents: int) -> str:
    if Outside.is_bank_away:
        raise ConnectionError("payment.example:443 refused the connection")
    return f"C-{order}"


@charge.undo
async def refund(result: str | None, order: str, cents: int) -> None: ...


@parcel.operation(complete_by="10m")
async def send(order: str) -> str:
    current_step().heartbeat({"parcel": order, "label": "printed"})
    if Outside.held is not None:
        await Outside.held.wait()
    return f"P-{order}"


@send.undo
async def call_back(result: str | None, order: str) -> None: ...


@mail.operation(complete_by="20s")
async def write(to: str) -> None: ...


@mail.operation(complete_by="2s")
async def unheard(to: str) -> None:
    """Never answers the first attempt, so that the Supervisor decides."""
    if current_step().attempt == 1:
        await asyncio.Event().wait()


@workflow(version="3", supervision=Supervision(threshold=1, backoff=Backoff("1s")))
async def fulfil_order(order: str, product: str, cents: int) -> str:
    await asyncio.gather(reserve(product), reserve(f"{product}-gift"))
    await charge(order, cents)
    sent = await send(order)
    await write(order)
    return sent


@workflow
async def place(product: str) -> str:
    return await reserve(product)


@workflow(version="2")
async def outfit(order: str) -> list[str]:
    """A parent with a child for each part."""
    places = [await place(f"{order}-{part}") for part in ("tent", "stove", "rope")]
    await unheard(order)
    await charge(order, 41_900)
    return places


@workflow
async def approve(order: str) -> Any:
    return await wait_for("approved")


@workflow
async def import_rows(number: int) -> int:
    done = await asyncio.gather(*[reserve(f"row-{each}") for each in range(number)], return_exceptions=True)
    return len(done)


@workflow
async def nightly_report() -> str:
    return await reserve("report")


fulfil_plan = Pipeline(
    "fulfil_plan",
    {
        "reserve": Stage(reserve, Given("product")),
        "charge": Stage(charge, Given("order"), 1_900, after=["reserve"]),
        "ship": Stage(send, Given("order"), after=["charge"]),
        "thank": Stage(write, From("ship")),
    },
    given={"order": str, "product": str},
    result="ship",
    supervision=Supervision(then="alert"),
)


async def accept(message: Message, transaction: Transaction) -> Accepted:
    order = message.read(dict[str, Any])
    if int(order.get("quantity", 0)) < 1:
        raise Unacceptable(f"quantity: expected 1 or more, found {order.get('quantity')!r}")
    return Accepted(approve, message.id)


def application(store: str) -> App:
    """The application over that store."""
    app = App(
        "shop",
        workflows=[fulfil_order, place, outfit, approve, import_rows, nightly_report, fulfil_plan],
        agents=[stock, payment, parcel, mail],
        store=store,
    )
    app.submission("orders", accept=accept)
    return app
