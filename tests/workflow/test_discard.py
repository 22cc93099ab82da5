"""Leaving memory: suspended code is closed, decides nothing and makes no noise."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import sys
import tracemalloc
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from types import AsyncGeneratorType
from typing import Any

import pytest

from stepward.model.records import Task
from stepward.workflow.definition import workflow
from stepward.workflow.execution import Execution
from stepward.workflow.functions import continue_as_new, random, side_effect, wait_for
from tests.workflow.declared import charge, refund, ship
from tests.workflow.play import Play


@pytest.fixture
def noise(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> Iterator[list[object]]:
    """What Python and asyncio complain of, up to the next garbage collection."""
    heard: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", heard.append)
    with caplog.at_level(logging.DEBUG):
        yield heard
        gc.collect()
    heard.extend(caplog.records)
    assert heard == []


def decided_on_discard(play: Play) -> bool:
    play.execution.discard()
    decisions = play.execution.take()
    gc.collect()
    return bool(decisions.calls or decisions.recorded or decisions.abandoned or decisions.end)


def test_a_finally_block_refunds_nothing(noise: list[object]) -> None:
    reached: list[str] = []

    @workflow
    async def careful() -> None:
        try:
            await charge("o")
        finally:
            reached.append("finally")
            await refund("o")
            reached.append("refunded")

    play = Play(careful)
    assert not decided_on_discard(play)
    assert reached == ["finally"]
    play.begin()
    assert play.decisions.calls == []
    assert not decided_on_discard(play)


def refuses(operation: Callable[[], Awaitable[Any] | Any]) -> list[str]:
    """What a finally block sees of ``operation`` while it is closed."""
    seen: list[str] = []

    @workflow
    async def trying() -> None:
        try:
            await charge("o")
        finally:
            try:
                result = operation()
                if isinstance(result, Awaitable):
                    await result
                seen.append("done")
            except BaseException as error:
                seen.append(type(error).__name__)

    assert not decided_on_discard(Play(trying))
    return seen


@pytest.mark.parametrize(
    "operation",
    [
        lambda: refund("o"),
        lambda: wait_for("go"),
        lambda: side_effect(lambda: 1),
        random,
        lambda: asyncio.create_task(refund("o")),
        lambda: asyncio.get_running_loop().run_in_executor(None, gc.collect),
        lambda: asyncio.sleep(5),
        lambda: asyncio.gather(refund("o"), ship("o")),
        lambda: asyncio.Event().wait(),
    ],
)
def test_no_operation_does_anything(operation: Callable[[], Any], noise: list[object]) -> None:
    assert refuses(operation)[0] in {"GeneratorExit", "Halted"}


def test_code_that_catches_everything_is_closed_all_the_same(noise: list[object]) -> None:
    @workflow
    async def stubborn() -> None:
        for _ in range(20):
            try:
                await charge("o")
            except BaseException:
                with contextlib.suppress(BaseException):
                    await asyncio.sleep(0)

    assert not decided_on_discard(Play(stubborn))


def test_an_end_reached_while_closing_is_none(noise: list[object]) -> None:
    @workflow
    async def ending() -> str:
        try:
            await charge("o")
        except BaseException:
            continue_as_new()
        return "never"

    assert not decided_on_discard(Play(ending))


def test_tasks_groups_generators_and_coroutines_are_closed_quietly(noise: list[object]) -> None:
    async def charges() -> AsyncIterator[Any]:
        try:
            for number in range(5):
                yield await charge("o", number)
        finally:
            await refund("o")

    async def first_of(source: AsyncIterator[Any]) -> Any:
        return await anext(source)

    async def failing() -> None:
        raise ValueError("never retrieved")

    async def consuming() -> None:
        async for _ in charges():
            continue

    async def holding(lock: asyncio.Lock) -> None:
        async with lock, asyncio.timeout(5):
            await ship("o")

    kept: list[Any] = []

    @workflow
    async def busy() -> None:
        waiting = [refund("never awaited"), refund("never awaited")]
        abandoned = charges()
        kept.append(asyncio.create_task(failing()))
        task = asyncio.create_task(first_of(abandoned))
        lock = asyncio.Lock()
        async with asyncio.TaskGroup() as group:
            group.create_task(consuming())
            group.create_task(holding(lock))
            group.create_task(holding(lock))
            await asyncio.sleep(1)
            await task
        waiting.clear()

    play = Play(busy)
    kept.clear()
    assert play.running == ["charge/1", "charge/2", "ship/1"]
    play.fire(1)
    assert not decided_on_discard(play)


def test_a_generator_left_behind_is_closed_with_the_run_and_decides_nothing(noise: list[object]) -> None:
    reached: list[str] = []

    async def charges() -> AsyncIterator[Any]:
        try:
            while True:
                yield await charge("o")
        finally:
            reached.append("closed")
            await refund("o")

    @workflow
    async def first_only() -> Any:
        async for one in charges():
            return one

    play = Play(first_only)
    play.finish("charge/1", "one")
    gc.collect()
    assert play.result == "one"
    assert (list(play.rows), reached) == (["charge/1"], ["closed"])


def test_finished_generators_are_not_kept(noise: list[object]) -> None:
    async def one() -> AsyncIterator[int]:
        yield 1

    @workflow
    async def many() -> int:
        total = 0
        for _ in range(300):
            async for number in one():
                total += number
        await charge("o")
        return total

    play = Play(many)
    kept = [each for each in gc.get_objects() if type(each) is AsyncGeneratorType and each.__name__ == "one"]
    assert len(kept) <= 65
    play.finish("charge/1")
    assert play.result == 300


def test_what_is_left_at_the_end_is_closed_quietly(noise: list[object]) -> None:
    reached: list[str] = []

    @workflow
    async def leaving() -> None:
        async def background() -> None:
            try:
                await charge("o")
            finally:
                reached.append("closed")
                await refund("o")

        task = asyncio.create_task(background())
        await ship("o")
        del task

    play = Play(leaving)
    play.finish("ship/1")
    assert (play.result, play.decisions.abandoned, reached) == (None, ["charge/1"], ["closed"])
    assert play.running == []


def test_closing_happens_in_the_workflow_and_its_context(noise: list[object]) -> None:
    seen: list[object] = []

    @workflow
    async def looking() -> None:
        loop = asyncio.get_running_loop()
        try:
            await charge("o")
        finally:
            seen.append(asyncio.get_running_loop() is loop)

    async def outer() -> None:
        before = asyncio.get_running_loop()
        Play(looking).execution.discard()
        seen.append(asyncio.get_running_loop() is before)

    asyncio.run(outer())
    assert seen == [True, True]


def test_discarding_twice_is_harmless() -> None:
    @workflow
    async def one() -> None:
        await charge("o")

    play = Play(one)
    play.execution.discard()
    play.execution.discard()


def test_a_waiting_execution_is_small() -> None:
    @workflow
    async def waiting(order: str) -> Any:
        first = await charge(order, 1)
        return first, await ship(order)

    def begin(number: int) -> Execution:
        task = Task(uid=f"uid-{number}", id="t", workflow="waiting", version="1", input=b'["o"]')
        execution = Execution(waiting, task, [])
        execution.start()
        execution.take()
        return execution

    begin(0)
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        executions = [begin(number) for number in range(1000)]
        gc.collect()
        each = (tracemalloc.get_traced_memory()[0] - before) / len(executions)
    finally:
        tracemalloc.stop()
    assert each < 6 * 1024


def test_a_discarded_execution_is_freed_without_the_garbage_collector() -> None:
    @workflow
    async def waiting() -> None:
        await wait_for("go")
        await charge("o")

    def discarded() -> None:
        play = Play(waiting)
        play.execution.discard()

    discarded()
    gc.collect()
    gc.disable()
    try:
        before = len(gc.get_objects())
        for _ in range(50):
            discarded()
        left = (len(gc.get_objects()) - before) / 50
    finally:
        gc.enable()
    assert left < 3, f"{left} objects of each are left in circles"
