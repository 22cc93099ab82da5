"""asyncio on the workflow's loop: every primitive works, and a replay runs alike."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import subprocess
import sys
from collections.abc import AsyncGenerator, AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from stepward.workflow.definition import workflow
from tests.workflow.declared import charge, ship
from tests.workflow.play import START, Play


async def with_lock() -> list[str]:
    lock, order = asyncio.Lock(), list[str]()

    async def one(name: str) -> None:
        async with lock:
            order.append(await charge(name))

    await asyncio.gather(one("a"), one("b"))
    return order


async def with_event() -> list[str]:
    event, order = asyncio.Event(), list[str]()

    async def one() -> None:
        await event.wait()
        order.append("woken")

    task = asyncio.create_task(one())
    order.append(await charge("a"))
    event.set()
    await task
    return order


async def with_group_of_anyio() -> list[str]:
    order: list[str] = []

    async def one(name: str) -> None:
        order.append(await charge(name))

    async with anyio.create_task_group() as group:
        group.start_soon(one, "a")
        group.start_soon(one, "b")
    return order


async def with_queue() -> list[str]:
    queue: asyncio.Queue[str] = asyncio.Queue(1)

    async def produce() -> None:
        for name in ("a", "b", "c"):
            await queue.put(await charge(name))

    task = asyncio.create_task(produce())
    got = [await queue.get() for _ in range(3)]
    await task
    return got


async def with_semaphore() -> list[str]:
    semaphore = asyncio.Semaphore(2)

    async def one(name: str) -> str:
        async with semaphore:
            return str(await charge(name))

    return await asyncio.gather(*(one(name) for name in "abc"))


async def with_condition() -> list[str]:
    condition, order = asyncio.Condition(), list[str]()

    async def one() -> None:
        async with condition:
            await condition.wait_for(lambda: bool(order))
            order.append("notified")

    task = asyncio.create_task(one())
    got = await charge("a")
    async with condition:
        order.append(got)
        condition.notify_all()
    await task
    return order


async def with_barrier() -> list[int]:
    barrier = asyncio.Barrier(2)
    return sorted(await asyncio.gather(barrier.wait(), barrier.wait()))


async def with_gather() -> list[Any]:
    return list(await asyncio.gather(charge("a"), ship("b"), asyncio.sleep(1, "slept")))


async def with_wait() -> list[str]:
    tasks = {asyncio.create_task(charge(name)) for name in "abcdef"}
    order: list[str] = []
    while tasks:
        done, tasks = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        order += [str(task.result()) for task in done]
    return order


async def with_as_completed() -> list[Any]:
    return [await one for one in asyncio.as_completed([charge("a"), ship("b"), charge("c")], timeout=50)]


async def with_as_completed_tasks() -> list[Any]:
    tasks = [asyncio.create_task(charge(name)) for name in "ab"]
    return [await one for one in asyncio.as_completed(tasks)]


async def with_task_group() -> list[Any]:
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(charge(name)) for name in "abc"]
    return [task.result() for task in tasks]


async def with_timeout() -> list[str]:
    order: list[str] = []
    for seconds in (0, 5):
        try:
            async with asyncio.timeout(seconds):
                await charge("a")
        except TimeoutError:
            order.append(f"late {seconds}")
    return order


async def with_wait_for() -> list[str]:
    order = [str(await asyncio.wait_for(charge("a"), 1000))]
    for seconds in (0, 5):
        try:
            await asyncio.wait_for(ship("b"), seconds)
        except TimeoutError:
            order.append(f"late {seconds}")
    return order


async def with_shield() -> Any:
    inner = asyncio.ensure_future(charge("a"))
    try:
        async with asyncio.timeout(1):
            await asyncio.shield(inner)
    except TimeoutError:
        return await inner


async def with_names() -> list[str]:
    async def name() -> str:
        task = asyncio.current_task()
        return task.get_name() if task else ""

    return [await name(), await asyncio.create_task(name()), await asyncio.create_task(name(), name="mine")]


async def with_generators() -> list[Any]:
    async def results() -> AsyncGenerator[Any, None]:
        for number in range(3):
            yield await charge("o", number)

    got: list[Any] = []
    async with contextlib.aclosing(results()) as source:
        async for one in source:
            got.append(one)
            if len(got) == 2:
                break
    return got


async def with_cancelled_callbacks() -> list[str]:
    loop, order = asyncio.get_running_loop(), list[str]()
    handle = loop.call_soon(order.append, "never")
    handle.cancel()
    later = loop.call_later(5, order.append, "never")
    assert not later.cancelled()
    assert later.when() == loop.time() + 5
    later.cancel()
    loop.call_soon(order.append, "once")
    loop.call_soon(lambda: 1 / 0)
    await asyncio.sleep(0)
    assert handle.cancelled()
    assert later.cancelled()
    assert loop.is_running()
    assert not loop.is_closed()
    return order


BODIES = [one for name, one in sorted(globals().items()) if name.startswith("with_")]


@pytest.mark.parametrize("body", BODIES, ids=lambda body: body.__name__)
@pytest.mark.parametrize("restarting", [False, True])
@pytest.mark.parametrize("newest_first", [False, True])
def test_every_primitive_works_and_replays_alike(body: Any, restarting: bool, newest_first: bool) -> None:
    @workflow(name="body")
    async def running() -> Any:
        return await body()

    play = Play(running)
    for turn in range(40):
        if play.end is not None:
            break
        running_steps = [key for key in play.running if key != "ship/1" or body is not with_wait_for]
        if body is with_timeout or (body is with_shield and turn == 0) or not running_steps:
            play.fire(10)
        else:
            key = running_steps[-1 if newest_first else 0]
            play.finish(key, f"result of {key}")
        if restarting and play.end is None:
            decisions = play.restart()
            assert not (decisions.calls or decisions.recorded or decisions.delivered or decisions.abandoned)
    assert play.result
    assert play.verified() is None
    gc.collect()


def test_waiting_is_alike_whatever_the_hash_seed() -> None:
    def history(seed: str) -> str:
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)}
        program = "from tests.workflow.hashing import tell; tell()"
        root = Path(__file__).parents[2]
        ran = subprocess.run(
            [sys.executable, "-c", program],
            env=environment,
            cwd=root,
            capture_output=True,
            text=True,
            check=True,
        )
        return ran.stdout

    told = {history(seed) for seed in ("0", "1", "77")}
    assert len(told) == 1
    assert "charge/20" in told.pop()


def test_sets_of_futures_and_tasks_iterate_alike_wherever_they_lie_in_memory() -> None:
    @workflow
    async def ordered() -> list[int]:
        loop = asyncio.get_running_loop()
        futures = [loop.create_future() for _ in range(9)]
        tasks = [asyncio.create_task(charge("o", number)) for number in range(9)]
        order = [futures.index(one) for one in set(futures)] + [tasks.index(one) for one in set(tasks)]
        for task in tasks:
            task.cancel()
        return order

    ballast: list[object] = []
    seen = set()
    for size in range(40):
        ballast += [bytearray(17 * size + 1) for _ in range(3)]
        play = Play(ordered)
        ballast.append(play)
        seen.add(tuple(play.result))
    assert len(seen) == 1


def test_a_workflow_runs_inside_another_loop() -> None:
    @workflow
    async def inner() -> list[bool]:
        mine = [asyncio.current_task() is not None, asyncio.get_running_loop().time() == START]
        await charge("o")
        return mine

    async def outer() -> list[bool]:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        hooks = sys.get_asyncgen_hooks()
        play = Play(inner)
        await asyncio.sleep(0)
        play.finish("charge/1")
        assert asyncio.get_running_loop() is loop
        assert asyncio.current_task() is task
        assert sys.get_asyncgen_hooks() == hooks
        async with asyncio.timeout(5):
            done: asyncio.Future[Play] = loop.create_future()
            loop.call_soon(lambda: done.set_result(Play(inner)))
            from_callback = await done
        from_callback.finish("charge/1")
        return [*play.result, *from_callback.result]

    assert asyncio.run(outer()) == [True] * 4


def test_generators_of_the_outer_loop_are_none_of_ours() -> None:
    closed: list[str] = []

    async def numbers() -> AsyncIterator[int]:
        try:
            yield 1
            yield 2
        finally:
            await asyncio.sleep(0)
            closed.append("closed by the outer loop")

    @workflow
    async def inner() -> None:
        await charge("o")

    async def outer() -> None:
        source = numbers()
        await anext(source)
        Play(inner).execution.discard()
        del source
        gc.collect()
        for _ in range(5):
            await asyncio.sleep(0)

    asyncio.run(outer())
    assert closed == ["closed by the outer loop"]


def test_many_tasks_are_forgotten_when_done() -> None:
    @workflow
    async def many() -> int:
        async def one() -> int:
            return 1

        total = 0
        for _ in range(500):
            total += await asyncio.create_task(one())
        tasks = [found for found in gc.get_objects() if issubclass(type(found), asyncio.Task)]
        held = [task for task in tasks if task.done() and task.get_loop() is asyncio.get_running_loop()]
        await charge("o")
        return total if len(held) < 100 else -1

    play = Play(many)
    play.finish("charge/1")
    assert play.result == 500
