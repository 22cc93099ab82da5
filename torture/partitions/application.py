"""The application under torture: an order charges twice, its child once; some wait, some are undone."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from stepward import Accepted, Agent, App, Message, Supervision, Transaction, Unrecoverable, current_step, workflow

NAME, ORDERS = "partitions", "orders"
"""The application, and its submission queue."""
LEASE = "2s"
"""Short, so that the tasks of a process that was killed go on soon."""
DEATHS = 1_000
"""Deaths of its owners after which a task is parked: more than a run brings about."""
REFUSED_EACH = 5
WAITING_EACH = 7
WAIT_SECONDS = 5.0
CHARGES = 3


def is_refused(order: str) -> bool:
    """Whether the order ends undone."""
    return _number(order) % REFUSED_EACH == 0


def _number(order: str) -> int:
    return int(order.rpartition("-")[2])


def application(stores: Sequence[str], port: int, transport: str) -> App:
    """The application; its service listens on ``port``. Messages in its queue ``orders`` become orders, too."""
    bank = Agent("bank", concurrency=8)

    @bank.operation(complete_by="3s")
    async def charge(order: str, number: int) -> str:
        return await asked(port, f"charge {order} {number}")

    @charge.undo
    async def refund(_: str | None, order: str, number: int) -> None:
        await asked(port, f"refund {order} {number}")

    @bank.operation(complete_by="3s")
    async def approve(order: str) -> None:
        if is_refused(order):
            raise Unrecoverable("refused")

    @workflow
    async def delivery(order: str) -> None:
        await charge(order, CHARGES - 1)

    @workflow(supervision=Supervision(threshold=DEATHS, then="undo"))
    async def fulfil(order: str) -> None:
        for number in range(CHARGES - 1):
            await charge(order, number)
        if _number(order) % WAITING_EACH == 0:
            await asyncio.sleep(WAIT_SECONDS)
        await delivery(order)
        await approve(order)

    async def accept(message: Message, transaction: Transaction) -> Accepted:
        return Accepted(fulfil, message.id)

    app = App(
        NAME,
        workflows=[fulfil, delivery],
        agents=[bank],
        store=stores,
        transport=transport,
        lease=LEASE,
        drain="1s",
        poll="200ms",
        recovery_limit=DEATHS,
    )
    app.submission(ORDERS, accept=accept)
    return app


async def asked(port: int, line: str) -> str:
    """The answer of the service to what a step asks, under its key."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(f"{line} {current_step().idempotency_key}\n".encode())
        return (await reader.readline()).decode().strip()
    finally:
        writer.close()
