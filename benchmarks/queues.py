"""What queues cost: a submission that accepts orders, and tasks that tell a private response queue."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from benchmarks.application import make_app, ten
from stepward import Accepted, App, Client, Message, Queues
from stepward.store.contract import Transaction

ORDERS = 10_000
ROUNDS = 5
TASKS = 1_280
AT_ONCE = 128
WAITING = "select count(*) from stepward_message where queue = 'submissions.bench.orders'"
REPLIES = "replies.bench.reader"
EVENTS_A_TASK = 13
"""Received, started, ten steps completed, completed."""

Figures = dict[str, float]


class Order(msgspec.Struct):
    customer: str
    product: str
    quantity: int


async def accepting(folder: Path) -> Figures:
    """One submission process and 10,000 orders that stand in its queue: each becomes a row of the shop's and a task."""
    path = folder / "bench.db"
    app = _shop(path)
    async with app.client() as client, client.transaction() as transaction:
        await transaction.execute("create table shop_order (id text primary key, customer text) strict")
    async with Queues(app.settings.store, app=app.name) as queues:
        for n in range(ORDERS):
            await queues.post("orders", Order(f"customer {n}", "teapot", 1), id=f"order-{n}", reply_to=REPLIES)
    began, used = time.perf_counter(), time.process_time()
    async with app.running(scheduler=False, agents=False, supervisor=False), app.client() as client:
        while await _count(client, WAITING):  # noqa: ASYNC110  another actor empties it
            await asyncio.sleep(0.02)
        seconds = time.perf_counter() - began
        tasks = await _count(client, "select count(*) from stepward_task")
        rows = await _count(client, "select count(*) from shop_order")
    assert tasks == rows == ORDERS, (tasks, rows)
    return {"orders_per_s": ORDERS / seconds, "cpu_us_per_order": (time.process_time() - used) / ORDERS * 1e6}


async def telling(folder: Path) -> Figures:
    """Ten-step tasks with and without a private response queue, in turn; another process reads all that is told."""
    app = make_app(folder / "bench.db")
    silent, told, shares = [], [], []
    async with app.running(), app.client() as client, _reader(app, (ROUNDS + 1) * TASKS * EVENTS_A_TASK):
        await _run(client, None)
        await _run(client, REPLIES)
        for _ in range(ROUNDS):
            silent.append(await _run(client, None))
            told.append(await _run(client, REPLIES))
            shares.append(told[-1] / silent[-1])
    middle = ROUNDS // 2
    return {
        "silent_steps_per_s": sorted(silent)[middle],
        "telling_steps_per_s": sorted(told)[middle],
        "telling_to_silent": sorted(shares)[middle],
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


def _shop(path: Path) -> App:
    app = make_app(path)

    async def accept(message: Message, transaction: Transaction) -> Accepted:
        order = message.read(Order)
        await transaction.execute("insert into shop_order values (?, ?)", (message.id, order.customer))
        return Accepted(ten, order.product)

    app.submission("orders", accept=accept)
    return app


async def _count(client: Client, query: str) -> int:
    async with client.transaction() as transaction:
        return int((await transaction.execute(query))[0][0])


async def _run(client: Client, reply_to: str | None) -> float:
    numbers = iter(range(TASKS))

    async def worker() -> None:
        for n in numbers:
            await (await client.submit(ten, f"order {n}", reply_to=reply_to)).result()

    began = time.perf_counter()
    await asyncio.gather(*(worker() for _ in range(AT_ONCE)))
    return TASKS * 10 / (time.perf_counter() - began)


@asynccontextmanager
async def _reader(app: App, count: int) -> AsyncIterator[None]:
    command = [sys.executable, "-m", "benchmarks.queues", app.settings.store, str(count)]
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    assert process.stdout is not None
    await process.stdout.readline()
    yield
    assert await asyncio.wait_for(process.wait(), 60) == 0


if __name__ == "__main__":
    asyncio.run(read(sys.argv[1], int(sys.argv[2])))
