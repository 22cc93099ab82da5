"""The programs' side of the contract, on a program that measures nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable

import pytest

from benchmarks.peers import contract


class Pretended(contract.DurableProgram):
    """Counts its orders."""

    ways = ("slow", "fast")

    def __init__(self) -> None:
        super().__init__("address")
        self.queued = 0
        self.submitted = list[int]()
        self.results = list[int]()

    async def start(self) -> None:
        pass

    async def stop(self) -> None:
        pass

    async def ten(self, n: int) -> None:
        pass

    async def ten_for(self, seconds: float, in_flight: int) -> contract.Answer:
        return {"tasks": 5 if self.way == "slow" else 10, "seconds": 1.0}

    async def queue(self, n: int) -> None:
        self.queued += 1

    async def drained(self, tasks: int) -> None:
        assert tasks == self.queued

    async def submit_held(self, n: int) -> None:
        self.submitted.append(n)
        asyncio.get_running_loop().create_task(contract.holding.hold())

    async def held_result(self, n: int) -> None:
        self.results.append(n)


class OnlyQueue(contract.QueueProgram):
    """Has no tasks of several steps."""

    async def start(self) -> None:
        pass

    async def stop(self) -> None:
        pass

    async def queue(self, n: int) -> None:
        pass

    async def drained(self, tasks: int) -> None:
        pass


async def test_the_warm_up_chooses_the_faster_way() -> None:
    program = Pretended()
    assert await contract.warm(program, 1.0, 128) == {"way": "fast"}
    assert program.way == "fast"


async def test_batches_double_until_one_takes_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    took = iter((0.2, 0.4, 1.5))

    async def timed(work: Awaitable[object]) -> float:
        await work
        return next(took)

    monkeypatch.setattr(contract, "timed", timed)
    program = Pretended()
    assert await contract.queued(program, 1.0) == {"tasks": 1_000, "seconds": 1.5}
    assert program.queued == 250 + 500 + 1_000


async def test_batches_end_at_their_bound_however_fast_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contract, "MOST_QUEUED", 1_000)
    program = Pretended()
    assert (await contract.queued(program, 1e6))["tasks"] == 1_000
    assert program.queued == 1_750


async def test_tasks_are_held_until_all_have_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(contract.HOLD, "1")
    monkeypatch.setattr(contract, "holding", contract.Holding())
    program = Pretended()
    assert await contract.hold(program, 20) == {"tasks": 20}
    assert program.submitted == list(range(20))
    assert contract.holding.begun == 20


async def test_nothing_is_held_in_the_process_that_takes_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(contract.HOLD, raising=False)
    await contract.Holding().hold()
    program = Pretended()
    await contract.finish(program, 3)
    assert sorted(program.results) == [0, 1, 2]


def test_percentiles_are_of_the_ordered_times() -> None:
    assert contract.percentiles([n / 1_000 for n in range(100, 0, -1)]) == {"tasks": 100, "p50_ms": 51, "p95_ms": 96}


async def test_work_that_a_product_does_not_take_part_in_is_an_error_and_no_end() -> None:
    answer = await contract._answer(OnlyQueue("address"), {"work": "alone", "seconds": 0.0})
    assert answer == {"error": "expected one of queued, found alone, which OnlyQueue does not do"}
