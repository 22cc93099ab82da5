"""A process of the application of ``test_moving_processes.py``: ``… LEDGER STORE…``; it ends with its input."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from stepward import Agent, App, Supervision, Unrecoverable, current_step, workflow

LEASE = "2s"
REFUSED_EACH = 5


def is_refused(order: str) -> bool:
    """Whether the order ends undone."""
    return int(order.rpartition("-")[2]) % REFUSED_EACH == 0


def application(stores: list[str], ledger: Path) -> App:
    """Its service writes each call into a file of the ledger, named by the key of the step."""
    agent = Agent("bank", concurrency=8)

    def note(act: str, order: str, what: str) -> None:
        (ledger / f"{act} {order} {what} {current_step().idempotency_key.replace('/', '_')}").touch()

    @agent.operation(complete_by="3s")
    async def charge(order: str, what: str) -> None:
        note("charge", order, what)

    @charge.undo
    async def refund(_: None, order: str, what: str) -> None:
        note("refund", order, what)

    @agent.operation(complete_by="3s")
    async def approve(order: str) -> None:
        if is_refused(order):
            raise Unrecoverable("refused")

    @workflow
    async def delivery(order: str) -> None:
        await charge(order, "delivery")

    @workflow(supervision=Supervision(then="undo"))
    async def fulfil(order: str) -> None:
        await charge(order, "goods")
        await asyncio.sleep(1)
        await delivery(order)
        await approve(order)

    return App(
        "moving",
        workflows=[delivery, fulfil],
        agents=[agent],
        store=stores,
        transport="store",
        lease=LEASE,
        poll="100ms",
        drain="1s",
    )


async def main(ledger: Path, stores: list[str]) -> None:
    """Run until the end of standard input."""
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    async with application(stores, ledger).running(supervisor_every="200ms"):
        print("ready", flush=True)
        await reader.read()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2:]))
