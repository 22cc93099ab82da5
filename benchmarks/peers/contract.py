"""The contract of every measured program: orders come as JSON lines on stdin, answers go as JSON lines to stdout.

It needs the standard library alone, because each product's program runs in that product's environment.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from itertools import count
from typing import Any

STEPS = 10
"""Steps of the task that is measured; each takes a string and an int, and returns ``{"ok": true, "n": i}``."""
READY = {"ready": 1}
HOLD = "BENCH_HOLD"
"""The variable with which a program is started that never ends the second step of a held task."""
MOST_CHARACTERS = 300
"""Most characters of a reported error."""
SUBMITTING = 32
"""Submissions at once where tasks are queued without a wait for their results."""

FIRST_QUEUED, MOST_QUEUED = 250, 50_000
"""Tasks of the first batch of queued ones, and the total after which no further batch follows."""
LOOK_SECONDS = 0.05

Answer = dict[str, Any]


class Holding:
    """Counts the second steps that were begun in a process that is going to be killed."""

    def __init__(self) -> None:
        self.begun = 0
        self.changed = asyncio.Event()

    async def hold(self) -> None:
        """Never returns where ``BENCH_HOLD`` is set, and at once elsewhere."""
        if os.environ.get(HOLD):
            self.begun += 1
            self.changed.set()
            await asyncio.Event().wait()

    async def wait(self, tasks: int) -> None:
        """Return once so many second steps were begun."""
        while self.begun < tasks:
            self.changed.clear()
            await self.changed.wait()


holding = Holding()


class Program(ABC):
    """A product at the work of the comparison."""

    ways: tuple[str, ...] = ("coroutines",)
    """The ways to write a task in this product; the warm-up chooses the faster one."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.way = self.ways[0]
        self.numbers = count()

    @abstractmethod
    async def start(self) -> None:
        """Connect, and start the workers."""

    @abstractmethod
    async def stop(self) -> None:
        """Stop the workers, and disconnect."""


class TimedProgram(Program):
    """One whose ten-step tasks are timed."""

    @abstractmethod
    async def ten_for(self, seconds: float, in_flight: int) -> Answer:
        """Start ten-step tasks for that time, so many at once, and wait for the last one."""

    @abstractmethod
    async def alone_for(self, seconds: float) -> Answer:
        """Run ten-step tasks one after another for that time."""


class QueueProgram(Program):
    """One that queues tasks of one step."""

    @abstractmethod
    async def queue(self, n: int) -> None:
        """Submit a task of one step without a wait for its result."""

    @abstractmethod
    async def drained(self, tasks: int) -> None:
        """Return once all queued tasks have ended."""


class DurableProgram(TimedProgram, QueueProgram):
    """One whose tasks have several steps, and survive the process."""

    @abstractmethod
    async def ten(self, n: int) -> None:
        """Run one task of ten steps from its submission to its result."""

    @abstractmethod
    async def submit_held(self, n: int) -> None:
        """Submit a task of two steps, of which the second calls ``hold``."""

    async def held(self, tasks: int) -> None:
        """Return once the second steps of so many tasks are held."""
        await holding.wait(tasks)

    @abstractmethod
    async def held_result(self, n: int) -> None:
        """Wait for the result of that task, which another process may have submitted."""

    async def ten_for(self, seconds: float, in_flight: int) -> Answer:
        end = time.perf_counter() + seconds
        done = 0

        async def worker() -> None:
            nonlocal done
            while time.perf_counter() < end:
                await self.ten(next(self.numbers))
                done += 1

        took = await timed(asyncio.gather(*(worker() for _ in range(in_flight))))
        return {"tasks": done, "seconds": took}

    async def alone_for(self, seconds: float) -> Answer:
        end = time.perf_counter() + seconds
        took = list[float]()
        while not took or time.perf_counter() < end:
            took.append(await timed(self.ten(next(self.numbers))))
        return percentiles(took)


async def warm(program: TimedProgram, seconds: float, in_flight: int) -> Answer:
    """Run every way for that time, and keep to the fastest."""
    rates = {}
    for way in program.ways:
        program.way = way
        answer = await program.ten_for(seconds, in_flight)
        rates[way] = answer["tasks"] / answer["seconds"]
    program.way = max(rates, key=lambda way: rates[way])
    return {"way": program.way}


async def queued(program: QueueProgram, seconds: float) -> Answer:
    """Queue one-step tasks without a wait for their results, twice as many each time, until that time is needed."""
    total, tasks, took = 0, FIRST_QUEUED, 0.0
    while True:
        total += tasks
        took = await timed(_queue(program, tasks, total))
        if took >= seconds or total >= MOST_QUEUED:
            return {"tasks": tasks, "seconds": took}
        tasks *= 2


async def _queue(program: QueueProgram, tasks: int, total: int) -> None:
    numbers = iter(range(tasks))

    async def submit() -> None:
        for _ in numbers:
            await program.queue(next(program.numbers))

    await asyncio.gather(*(submit() for _ in range(SUBMITTING)))
    await program.drained(total)


async def hold(program: DurableProgram, tasks: int) -> Answer:
    """Submit tasks that stop in their second step, and wait until all have."""
    await asyncio.gather(*(program.submit_held(n) for n in range(tasks)))
    await program.held(tasks)
    return {"tasks": tasks}


async def finish(program: DurableProgram, tasks: int) -> Answer:
    """Wait for the results of tasks that another process submitted."""
    await asyncio.gather(*(program.held_result(n) for n in range(tasks)))
    return {"tasks": tasks}


def works_of(program: Program) -> dict[str, Callable[..., Coroutine[Any, Any, Answer]]]:
    """The works that a program can be ordered to do, by name."""
    works: dict[str, Callable[..., Coroutine[Any, Any, Answer]]] = {}
    if isinstance(program, TimedProgram):
        works |= {"warm": partial(warm, program), "ten": program.ten_for, "alone": program.alone_for}
    if isinstance(program, QueueProgram):
        works["queued"] = partial(queued, program)
    if isinstance(program, DurableProgram):
        works |= {"hold": partial(hold, program), "finish": partial(finish, program)}
    return works


def percentiles(seconds: list[float]) -> Answer:
    """The median and the 95th percentile in milliseconds."""
    ordered = sorted(seconds)
    return {
        "tasks": len(ordered),
        "p50_ms": 1000 * ordered[len(ordered) // 2],
        "p95_ms": 1000 * ordered[len(ordered) * 95 // 100],
    }


async def until(look: Callable[[], Awaitable[int]], wanted: int) -> None:
    """Look each 50 ms until the number is at least the wanted one."""
    while await look() < wanted:  # noqa: ASYNC110  the product's own store brings it about
        await asyncio.sleep(LOOK_SECONDS)


async def timed(work: Awaitable[object]) -> float:
    """Seconds that the work took."""
    began = time.perf_counter()
    await work
    return time.perf_counter() - began


def run(make: Callable[[str], Program]) -> None:
    """Run the program at the address of the first argument until stdin is closed."""
    asyncio.run(_serve(make(sys.argv[1])))


async def _serve(program: Program) -> None:
    # A product that prints would be taken for an answer.
    with os.fdopen(os.dup(1), "w", buffering=1) as answers:
        os.dup2(2, 1)
        await program.start()
        try:
            print(json.dumps(READY), file=answers)
            while line := await asyncio.to_thread(sys.stdin.readline):
                print(json.dumps(await _answer(program, json.loads(line))), file=answers)
        finally:
            await program.stop()


async def _answer(program: Program, order: Answer) -> Answer:
    try:
        works, name = works_of(program), order.pop("work")
        if name not in works:
            return {
                "error": f"expected one of {', '.join(works)}, found {name}, which {type(program).__name__} does not do"
            }
        return await works[name](**order)
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}".replace("\n", " ")[:MOST_CHARACTERS]}
