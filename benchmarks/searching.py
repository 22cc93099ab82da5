"""``python -m benchmarks.searching [--store postgresql] [--tasks 1000000]``: list, search and count in a large store.

Fills a store of its own with tasks as a shop has them after three months, and prints the median and the 95th percentile of
each search by a client, in milliseconds. Ends with 1 if one took longer than 100 ms at the 95th percentile.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import msgspec

from benchmarks.places import place
from stepward.client import Client, session_of
from stepward.clock import Environment
from stepward.model.attributes import encoded
from stepward.model.records import Task
from stepward.model.states import TASK_ENDS, TaskState

DAY = 86_400.0
DAYS = 90
AT_ONCE = 5_000
ROUNDS = 60
MOST_MILLISECONDS = 100.0
CUSTOMERS = 10_000
STATES = [
    *((TaskState.PROCESSED, 930), (TaskState.ERROR, 40), (TaskState.UNDONE, 15), (TaskState.WAITING, 10)),
    *((TaskState.CANCELLED, 3), (TaskState.SUSPENDED, 1), (TaskState.PENDING, 1)),
]
ERRORS = ("CardDeclined", "Timeout", "OutOfStock", "AddressUnknown", "KeyError")
WORKFLOWS = ("fulfil", "fulfil", "fulfil", "refund", "invoice", "remind", "audit")


def tasks(count: int, now: float, environment: Environment) -> Iterator[Task]:
    """So many tasks in order of their creation; alike for alike counts but for their uids."""
    chance = random.Random(1)
    states = [state for state, share in STATES for _ in range(share)]
    for number in range(count):
        state = chance.choice(states)
        created = now - DAYS * DAY * (1 - number / count)
        attributes = {"customer": f"c{chance.randrange(CUSTOMERS)}", "total": chance.randrange(1, 50_000) / 100}
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
        "state": f"state = {chance.choice(['error', 'undone', 'processed'])!r}",
        "state and time": "state = 'error' and created > '1d ago'",
        "workflow": f"workflow = {chance.choice(WORKFLOWS)!r}",
        "label": f"label.city = {city!r}",
        "attribute": f"attr.customer = {customer!r}",
        "issue's example": f"state = 'error' and workflow = 'fulfil' and attr.customer = {customer!r} "
        "and created > '60d ago'",
        "attribute range": f"attr.total > {chance.randrange(400, 499)}.5",
        "error type": "error.type = 'CardDeclined'",
        "rare error type": "error.type = 'Rare'",
        "label and state": f"label.city = {city!r} and state = 'error'",
        "rare residual": "workflow = 'fulfil' and priority = 9",
        "id prefix": f"id starts_with 'order-{chance.randrange(1000)}'",
        "open step": "agent = 'payments'",
        "states": "state in ('error', 'waiting') and workflow != 'fulfil'",
        "old": "created < '80d ago' and state = 'error'",
        "nothing": "failures > 90",
    }


async def measured(client: Client) -> dict[str, list[float]]:
    """Milliseconds of each search in each round."""
    found: dict[str, list[float]] = {}
    for number in range(ROUNDS):
        for name, where in searches(random.Random(number)).items():
            acts: dict[str, Callable[[], Awaitable[Any]]] = {
                f"list: {name}": lambda where=where: client.tasks(where=where, limit=50),
                f"count: {name}": lambda where=where: client.count(where=where),
            }
            for what, act in acts.items():
                began = time.perf_counter()
                await act()
                found.setdefault(what, []).append(1000 * (time.perf_counter() - began))
    return found


async def main(store: str, count: int) -> int:
    """Fill, measure and print; 1 if something took too long."""
    with tempfile.TemporaryDirectory() as folder, place(store, folder) as address:
        async with Client(address, app="shop") as client:
            began = time.perf_counter()
            session, batch = session_of(client), list[Task]()
            for task in tasks(count, session.store.now(), Environment()):
                batch.append(task)
                if len(batch) == AT_ONCE:
                    await session.store.client.submit(batch)
                    batch.clear()
            await session.store.client.submit(batch)
            print(f"{count:,} tasks in {time.perf_counter() - began:,.0f} s", flush=True)
            found = await measured(client)
    missed = 0
    print(f"{'milliseconds':28}{'median':>10}{'p95':>10}")
    for name, times in sorted(found.items(), reverse=True):
        p95 = statistics.quantiles(times, n=20)[-1]
        missed += p95 > MOST_MILLISECONDS
        print(f"{name:28}{statistics.median(times):10.1f}{p95:10.1f}{'  missed' * (p95 > MOST_MILLISECONDS)}")
    return 1 if missed else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.searching")
    parser.add_argument("--store", choices=("sqlite", "postgresql"), default="sqlite")
    parser.add_argument("--tasks", type=int, default=1_000_000)
    asked = parser.parse_args()
    sys.exit(asyncio.run(main(asked.store, asked.tasks)))
