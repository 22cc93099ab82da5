"""`python -m examples.shop.bookkeeper`: note in each order how its task ended, until SIGTERM or SIGINT.

A workflow notes in its order what it does itself. That everything was undone, that the customer cancelled or that an
operator was called is decided outside of it, and reaches the order through this process. It asks for the state of
the tasks of open orders, so it may be killed at any time: the next one finds the same orders open.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import suppress

from msgspec.structs import replace

from examples.orders import database
from examples.orders.app import app
from examples.orders.database import OpenOrder, OrderState
from servers.tether import listen, until
from stepward import Client
from stepward.errors import StoreError, TaskNotFound

EVERY_SECONDS = 0.2
PAGE = 500
MOST_FAILED = 100
"""Looks in a row. A store that fails over is away for a moment, and its driver says so in words of its own."""
FINAL = frozenset({OrderState.PROCESSED, OrderState.UNDONE, OrderState.CANCELLED})


def main() -> None:
    """Read the command line and keep the books."""
    parser = argparse.ArgumentParser(prog="python -m examples.shop.bookkeeper", description=__doc__)
    parser.add_argument("--tethered", action="store_true", help="end when standard input is closed")
    asyncio.run(_work(is_tethered=parser.parse_args().tethered))


async def note_ends(client: Client) -> None:
    """Note in every open order what has become of its task; an order whose task has ended is closed."""
    async for orders in _pages(client):
        news = [each for order in orders if (each := _news(order, await _task_state(client, order.id)))]
        if news:
            async with client.transaction() as transaction:
                for order in news:
                    await database.note(transaction, order)


async def correct_address(client: Client, order_id: str, address: str) -> None:
    """What an operator does about a parcel without an address: correct it, and resubmit the step that failed."""
    async with client.transaction() as transaction:
        await database.set_address(transaction, order_id, address)
    await client.task(order_id).resubmit(input=[order_id, address])


async def _work(*, is_tethered: bool) -> None:
    told = listen(is_tethered=is_tethered)
    async with app.client() as client:
        async with client.transaction() as transaction:
            await database.create_table(transaction)
        print("bookkeeper ready", flush=True)
        await until(told, keep(client))


async def keep(client: Client) -> None:
    """Note ends for ever; raises what keeps it from that for too long."""
    failed = 0
    while True:
        try:
            await note_ends(client)
            failed = 0
        except StoreError as error:
            failed += 1
            print(f"bookkeeper: cannot look just now: {error}", file=sys.stderr, flush=True)
            if failed == MOST_FAILED:
                raise
        await asyncio.sleep(EVERY_SECONDS)


async def _pages(client: Client) -> AsyncIterator[list[OpenOrder]]:
    after = ""
    while True:
        async with client.transaction() as transaction:
            orders = await database.read_open(transaction, PAGE, after)
        if not orders:
            return
        yield orders
        after = orders[-1].id


async def _task_state(client: Client, order_id: str) -> OrderState | None:
    # Retention may have deleted the task while no bookkeeper ran: its end is then unknown.
    with suppress(TaskNotFound):
        return OrderState((await client.task(order_id).status()).process_state)
    return None


def _news(order: OpenOrder, task: OrderState | None) -> OpenOrder | None:
    """The change to record in an order; a change that the workflow made itself stays until its task has ended."""
    if task in FINAL:
        return replace(order, state=task, closed=True)
    is_error, was_error = task is OrderState.ERROR, order.state is OrderState.ERROR
    return replace(order, state=task) if task is not None and is_error is not was_error else None


if __name__ == "__main__":
    main()
