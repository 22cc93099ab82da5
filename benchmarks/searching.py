"""``python -m benchmarks.searching [--store postgresql] [--tasks 1000000]``: list, search and count in a large store.

Fills a store of its own with tasks as a shop has them after three months, and prints the median and the 95th
percentile of each search by a client, and of the page of a task with 1,000 steps, in milliseconds. Exits with 1 if
a 95th percentile is over its limit.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import islice
from pathlib import Path

import asyncpg
import httpx
import msgspec
from msgspec.structs import astuple

from benchmarks.application import act, service
from benchmarks.store_locations import Place, PostgresBench, SqlitePlace
from servers import postgres
from stepward import App, workflow
from stepward.client import Client, session_of
from stepward.clock import Environment
from stepward.model.records import Task
from stepward.model.states import TASK_ENDS, TaskState
from stepward.model.tasks.attributes import AttributeValue, encoded
from stepward.store.address import is_postgres

DAY = 86_400.0
DAYS = 90
BATCH = 5_000
ROUNDS = 60
PAGE_ROUNDS = 60
STEPS = 1_000
SEARCH_MILLISECONDS = 100.0
PAGE_MILLISECONDS = 200.0
CUSTOMERS = 10_000
STATES = [
    *((TaskState.PROCESSED, 930), (TaskState.ERROR, 40), (TaskState.UNDONE, 15), (TaskState.WAITING, 10)),
    *((TaskState.CANCELLED, 3), (TaskState.SUSPENDED, 1), (TaskState.PENDING, 1)),
]
"""The states of 1,000 tasks, with the number of tasks in each."""
ERRORS = ("CardDeclined", "Timeout", "OutOfStock", "AddressUnknown", "KeyError")
WORKFLOWS = ("fulfil", "fulfil", "fulfil", "refund", "invoice", "remind", "audit")
LONG = "long"
PAGES = {"page": f"/tasks/{LONG}", "api steps": f"/api/v1/tasks/{LONG}/steps", "list page": "/tasks"}

Times = dict[str, list[float]]
"""Milliseconds of each round, by what was measured."""


@workflow
async def many() -> None:
    """The steps of the long page."""
    for number in range(STEPS):
        await act("text", number)


def tasks(count: int, now: float, environment: Environment) -> Iterator[Task]:
    """Yields tasks in order of their creation; the same for the same count but for their uids."""
    chance = random.Random(1)
    states = [state for state, share in STATES for _ in range(share)]
    for number in range(count):
        state = chance.choice(states)
        created = now - DAYS * DAY * (1 - number / count)
        attributes: dict[str, AttributeValue] = {
            "customer": f"c{chance.randrange(CUSTOMERS)}",
            "total": chance.randrange(1, 50_000) / 100,
        }
        yield Task(
            uid=environment.new_uid(),
            id=f"order-{number}",
            workflow=chance.choice(WORKFLOWS),
            version="1" if number < count * 0.9 else "2",
            state=state,
            priority=9 if chance.random() < 0.001 else 5,
            labels=msgspec.json.encode({"city": f"city-{chance.randrange(50)}"}),
            attributes=encoded(attributes),
            input=b'["order", 4200, "Elm Street 5"]',
            output=b'"parcel"' if state is TaskState.PROCESSED else None,
            error=_error(chance) if state is TaskState.ERROR else None,
            undo_to=state if state is TaskState.UNDONE else None,
            failure_count=chance.choice((0, 0, 0, 1, 4)),
            created_at=created,
            started_at=created,
            finished_at=created + 60 if state in TASK_ENDS else None,
        )


def _error(chance: random.Random) -> bytes:
    rare = chance.random() < 0.001
    return msgspec.json.encode({"type": "Rare" if rare else chance.choice(ERRORS), "message": "it did not work"})


def searches(chance: random.Random) -> dict[str, str]:
    """A filter of each kind."""
    customer, city = f"c{chance.randrange(CUSTOMERS)}", f"city-{chance.randrange(50)}"
    return {
        "newest": "",
        "rare state": "state = 'suspended'",
        "state": f"state = '{chance.choice(['error', 'undone', 'processed'])}'",
        "state and time": "state = 'error' and created > '1d ago'",
        "workflow": f"workflow = '{chance.choice(WORKFLOWS)}'",
        "label": f"label.city = '{city}'",
        "attribute": f"attr.customer = '{customer}'",
        "compound": f"state = 'error' and workflow = 'fulfil' and attr.customer = '{customer}' and created > '60d ago'",
        "attribute range": f"attr.total > {chance.randrange(400, 499)}.5",
        "error type": "error.type = 'CardDeclined'",
        "rare error type": "error.type = 'Rare'",
        "label and state": f"label.city = '{city}' and state = 'error'",
        "rare residual": "workflow = 'fulfil' and priority = 9",
        "id prefix": f"id starts_with 'order-{chance.randrange(1000)}'",
        "open step": "agent = 'payments'",
        "states": "state in ('error', 'waiting') and workflow != 'fulfil'",
        "old": "created < '80d ago' and state = 'error'",
        "nothing": "failures > 90",
    }


async def fill(client: Client, address: str, count: int) -> None:
    """Insert so many tasks in batches; at PostgreSQL by ``copy``, and with statistics at the end."""
    session = session_of(client)
    many = tasks(count, session.store.now(), Environment())
    if not is_postgres(address):
        while batch := list(islice(many, BATCH)):
            await session.store.client.submit(batch)
        return
    connection = await asyncpg.connect(address)
    try:
        while batch := list(islice(many, BATCH)):
            await connection.copy_records_to_table(
                "task",
                schema_name="stepward_shop",
                columns=Task.__struct_fields__,
                records=[astuple(task) for task in batch],
            )
        await connection.execute("analyze")
    finally:
        await connection.close()


async def searched(client: Client) -> Times:
    """Measure each search in each round."""
    found: Times = {}
    for number in range(ROUNDS):
        for name, where in searches(random.Random(number)).items():
            began = time.perf_counter()
            await client.tasks(where=where, limit=50)
            listed = time.perf_counter()
            await client.count(where=where)
            counted = time.perf_counter()
            found.setdefault(f"list: {name}", []).append(1000 * (listed - began))
            found.setdefault(f"count: {name}", []).append(1000 * (counted - listed))
    return found


async def shown(app: App) -> Times:
    """Measure pages of a task with many steps."""
    async with app.running(), app.client() as client:
        await (await client.submit(many, id=LONG)).result()
    found: Times = {}
    asgi = app.asgi(local_admin=True)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(asgi), base_url="http://127.0.0.1:8321") as browser:
        for _ in range(PAGE_ROUNDS):
            for name, path in PAGES.items():
                began = time.perf_counter()
                answer = await browser.get(path)
                found.setdefault(name, []).append(1000 * (time.perf_counter() - began))
                answer.raise_for_status()
    return found


def report(title: str, found: Times, limit: float) -> int:
    """Print a table, slowest first; how many rows are over the limit at the 95th percentile."""
    rows = [(statistics.quantiles(times, n=20)[-1], name, statistics.median(times)) for name, times in found.items()]
    print(f"{title + ' (ms)':28}{'median':>10}{'p95':>10}")
    for p95, name, median in sorted(rows, reverse=True):
        print(f"{name:28}{median:10.1f}{p95:10.1f}{'  over the limit' if p95 > limit else ''}")
    return sum(p95 > limit for p95, _, _ in rows)


async def main(store: str, count: int, folder: Path) -> int:
    """Fill a store, measure and print; 1 if something took too long."""
    with ExitStack() as stack:
        place: Place = SqlitePlace(folder)
        if store == "postgresql":
            place = PostgresBench(stack.enter_context(postgres.running()), folder)
        address = await place.fresh()
        async with Client(address, app="shop") as client:
            began = time.perf_counter()
            await fill(client, address, count)
            print(f"{count:,} tasks in {time.perf_counter() - began:,.0f} s", flush=True)
            over = report("search", await searched(client), SEARCH_MILLISECONDS)
        app = App("shop", workflows=[many], agents=[service], store=address)
        over += report("page", await shown(app), PAGE_MILLISECONDS)
    return min(over, 1)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", choices=["sqlite", "postgresql"], default="sqlite")
    parser.add_argument("--tasks", type=int, default=1_000_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        sys.exit(asyncio.run(main(options.store, options.tasks, Path(name))))
