"""What queues cost: a submission that accepts orders, and tasks that tell a private response queue."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec

from benchmarks.application import make_app, ten
from benchmarks.loads import STEPS, median, ratio, run_ten_steps
from benchmarks.store_locations import Place
from benchmarks.store_queries import once, until
from stepward import Accepted, App, Message, Queues
from stepward.store.address import is_postgres
from stepward.store.contract import Transaction

ORDERS = 10_000
ROUNDS = 5
TASKS = 1_280
TABLE = "create table shop_order (id text primary key, customer text)"
TAKEN = "select {orders} - count(*) from {{message}} where queue = 'submissions.bench.orders'"
REPLIES = "replies.bench.reader"
EVENTS_A_TASK = 13
"""Received, started, ten steps completed, completed."""
MICROSECONDS = 1e6

Figures = dict[str, float]


class QueuedOrder(msgspec.Struct):
    customer: str
    product: str
    quantity: int


async def accepting(place: Place, *, orders: int = ORDERS) -> Figures:
    """One submission process and orders that stand in its queue: each becomes a row of the shop's and a task."""
    address = await place.fresh()
    app = _shop(address)
    async with app.client() as client, client.transaction() as transaction:
        await transaction.execute(TABLE)
    async with Queues(address, app=app.name) as queues:
        for n in range(orders):
            await queues.post("orders", QueuedOrder(f"customer {n}", "teapot", 1), id=f"order-{n}", reply_to=REPLIES)
    began, used = time.perf_counter(), time.process_time()
    async with app.running(scheduler=False, agents=False, supervisor=False):
        await until(address, TAKEN.format(orders=orders), orders)
        seconds = time.perf_counter() - began
    (tasks,) = await once(address, "select count(*) from {task}")
    (rows,) = await once(address, "select count(*) from shop_order")
    assert tasks == rows == orders, (tasks, rows)
    return {"orders_per_s": orders / seconds, "cpu_us_per_order": (time.process_time() - used) / orders * MICROSECONDS}


async def telling(place: Place, *, rounds: int = ROUNDS, tasks: int = TASKS) -> Figures:
    """Ten-step tasks with and without a private response queue, in turn; another process reads all events."""
    app = make_app(await place.fresh())
    silent, told = [], []
    async with app.running(), app.client() as client, _reader(app, (rounds + 1) * tasks * EVENTS_A_TASK):
        await run_ten_steps(client, tasks)
        await run_ten_steps(client, tasks, reply_to=REPLIES)
        for _ in range(rounds):
            silent.append(tasks * STEPS / await run_ten_steps(client, tasks))
            told.append(tasks * STEPS / await run_ten_steps(client, tasks, reply_to=REPLIES))
    return {
        "silent_steps_per_s": median(silent),
        "telling_steps_per_s": median(told),
        "telling_to_silent": ratio(told, silent),
    }


async def read(address: str, count: int) -> None:
    """Read that many events, and check that each task's come in order."""
    last: dict[str, int] = {}
    async with Queues(address, app="bench") as queues:
        print("reading", flush=True)
        async for event in queues.events(REPLIES):
            assert event.sequence == last.get(event.subject, 0) + 1, event
            last[event.subject] = event.sequence
            count -= 1
            if not count:
                return


def _shop(address: str) -> App:
    app = make_app(address)
    insert = f"insert into shop_order values {'($1, $2)' if is_postgres(address) else '(?, ?)'}"

    async def accept(message: Message, transaction: Transaction) -> Accepted:
        order = message.read(QueuedOrder)
        await transaction.execute(insert, (message.id, order.customer))
        return Accepted(ten, order.product)

    app.submission("orders", accept=accept)
    return app


@asynccontextmanager
async def _reader(app: App, count: int) -> AsyncIterator[None]:
    command = [sys.executable, "-m", "benchmarks.measures.queues", app.settings.store, str(count)]
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    assert process.stdout is not None
    await process.stdout.readline()
    yield
    assert await asyncio.wait_for(process.wait(), 60) == 0


if __name__ == "__main__":
    asyncio.run(read(sys.argv[1], int(sys.argv[2])))
