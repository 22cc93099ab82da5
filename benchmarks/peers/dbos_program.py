"""DBOS at the work that Stepward is measured at; runs in the environment of ``requirements/peers.txt``.

Orders come as JSON lines on stdin, answers go to stdout: each says what every way of writing it in DBOS reaches, as
coroutines and as plain functions on threads. The benchmark takes the better one.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor

import sqlalchemy
from dbos import DBOS

STEPS = 10
QUEUERS = 32
LOOK_SECONDS = 0.5
POLL_SECONDS = 0.05
SUCCEEDED = """
select count(*), min(started_at_epoch_ms), max(completed_at) from dbos.workflow_status
where queue_name = :queue and status = 'SUCCESS'
"""

Figures = dict[str, float]


async def act(text: str, n: int) -> dict[str, object]:
    return {"ok": True, "n": n}


async def one(text: str) -> dict[str, object]:
    result: dict[str, object] = await step(text, 1)
    return result


async def ten(text: str) -> int:
    total = 0
    for n in range(STEPS):
        await step(text, n)
        total += n
    return total


def act_on_thread(text: str, n: int) -> dict[str, object]:
    return {"ok": True, "n": n}


def one_on_thread(text: str) -> dict[str, object]:
    result: dict[str, object] = step_on_thread(text, 1)
    return result


def ten_on_thread(text: str) -> int:
    total = 0
    for n in range(STEPS):
        step_on_thread(text, n)
        total += n
    return total


step, step_on_thread = DBOS.step()(act), DBOS.step()(act_on_thread)
WORKFLOWS = {function.__name__: DBOS.workflow()(function) for function in (one, ten, one_on_thread, ten_on_thread)}


def main(address: str) -> None:
    """Do what is asked until nothing more is."""
    DBOS(
        config={
            "name": "peer",
            "system_database_url": address,
            "log_level": "ERROR",
            "console_log_level": "ERROR",
            "enable_otlp": False,
        }
    )
    DBOS.launch()
    works: dict[str, Callable[..., Figures]] = {"ten": _ten, "alone": _alone, "queued": Queued(address)}
    for line in sys.stdin:
        work, *amounts = json.loads(line)
        print(json.dumps(works[work](*amounts)), flush=True)
    DBOS.destroy()


def _ten(tasks: int, at_once: int) -> Figures:
    return {
        "coroutines": tasks * STEPS / asyncio.run(_together(WORKFLOWS["ten"], tasks, at_once)),
        "threads": tasks * STEPS / _on_threads(WORKFLOWS["ten_on_thread"], tasks, at_once),
    }


async def _together(work: Callable[[str], Awaitable[object]], tasks: int, at_once: int) -> float:
    numbers = iter(range(tasks))

    async def worker() -> None:
        for n in numbers:
            await work(f"order {n}")

    began = time.perf_counter()
    await asyncio.gather(*(worker() for _ in range(at_once)))
    return time.perf_counter() - began


def _on_threads(work: Callable[[str], object], tasks: int, at_once: int) -> float:
    with ThreadPoolExecutor(at_once) as threads:
        began = time.perf_counter()
        list(threads.map(work, [f"order {n}" for n in range(tasks)]))
        return time.perf_counter() - began


def _alone(repeats: int) -> Figures:
    async def coroutines() -> list[float]:
        return [await _together(WORKFLOWS["ten"], 1, 1) for _ in range(repeats)]

    def on_this_thread() -> float:
        began = time.perf_counter()
        WORKFLOWS["ten_on_thread"]("order")
        return time.perf_counter() - began

    times = {"coroutines": asyncio.run(coroutines()), "threads": [on_this_thread() for _ in range(repeats)]}
    return {way: sorted(seconds)[repeats // 2] for way, seconds in times.items()}


class Queued:
    """One-step tasks that are queued before their queue is made known; what they took is read from their rows."""

    def __init__(self, address: str) -> None:
        self._engine = sqlalchemy.create_engine(address.replace("postgresql:", "postgresql+psycopg:"))
        self._made = 0

    def __call__(self, tasks: int) -> Figures:
        """Tasks a second, of each kind."""
        return {"coroutines": self._drain("one", tasks), "threads": self._drain("one_on_thread", tasks)}

    def _drain(self, workflow: str, tasks: int) -> float:
        self._made += 1
        queue = f"queue-{self._made}"
        with ThreadPoolExecutor(QUEUERS) as threads:
            list(threads.map(lambda n: DBOS.enqueue_workflow(queue, WORKFLOWS[workflow], f"order {n}"), range(tasks)))
        DBOS.register_queue(queue, polling_interval_sec=POLL_SECONDS)
        while (ended := self._ended(queue))[0] < tasks:
            time.sleep(LOOK_SECONDS)
        DBOS.delete_queue(queue)
        _, began, finished = ended
        return tasks * 1_000 / (finished - began)

    def _ended(self, queue: str) -> tuple[int, int, int]:
        with self._engine.connect() as connection:
            count, began, ended = connection.execute(sqlalchemy.text(SUCCEEDED), {"queue": queue}).one()
            return count, began, ended


if __name__ == "__main__":
    main(sys.argv[1])
