"""Exceptions that end a process where nothing holds them: raised by workflow code, they end that task alone."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

import pytest

from stepward.workflow.definition import workflow
from tests.workflow.declared import charge
from tests.workflow.play import Play

ENDING = [KeyboardInterrupt, SystemExit, GeneratorExit]

Way = Callable[[BaseException], Awaitable[None]]


async def directly(error: BaseException) -> None:
    raise error


async def in_a_task(error: BaseException) -> None:
    await asyncio.create_task(directly(error))


async def in_a_generator(error: BaseException) -> None:
    def numbers() -> Iterator[int]:
        yield 1
        raise error

    sum(numbers())


async def in_an_asynchronous_generator(error: BaseException) -> None:
    async def numbers() -> AsyncIterator[int]:
        yield 1
        raise error

    async for _ in numbers():
        pass


async def in_a_finally_block(error: BaseException) -> None:
    try:
        raise ValueError("first")
    finally:
        raise error


WAYS = [directly, in_a_task, in_a_generator, in_an_asynchronous_generator, in_a_finally_block]


@pytest.mark.parametrize("kind", ENDING)
@pytest.mark.parametrize("way", WAYS)
def test_an_exception_that_ends_processes_ends_its_task_alone(kind: type[BaseException], way: Way) -> None:
    @workflow
    async def leaving() -> None:
        await way(kind("typo"))

    error = Play(leaving).error
    assert (error["type"], error["message"]) == (kind.__name__, "typo")
    assert "test_interrupts.py" in error["at"]


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("place", ["callback", "task"])
def test_an_exit_in_a_task_that_is_not_awaited_ends_the_workflow_too(kind: type[BaseException], place: str) -> None:
    def leave() -> None:
        raise kind("typo")

    async def task() -> None:
        leave()

    @workflow
    async def leaving() -> None:
        kept = asyncio.get_running_loop().call_soon(leave) if place == "callback" else asyncio.create_task(task())
        await charge("o")
        del kept

    play = Play(leaving)
    assert (play.error["type"], play.error["message"]) == (kind.__name__, "typo")


@pytest.mark.parametrize("kind", ENDING)
def test_a_finally_block_that_raises_at_eviction_decides_nothing(kind: type[BaseException]) -> None:
    @workflow
    async def order() -> None:
        try:
            await charge("o")
        finally:
            raise kind

    play = Play(order)
    play.execution.discard()
    assert play.running == ["charge/1"]
    play.begin()
    play.finish("charge/1")
    assert play.error["type"] == kind.__name__


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("kind", ENDING)
def test_an_exception_in_a_finalizer_ends_nothing(kind: type[BaseException]) -> None:
    class Kept:
        def __del__(self) -> None:
            raise kind

    @workflow
    async def order() -> str:
        kept = Kept()
        del kept
        return "done"

    assert Play(order).result == "done"


@pytest.mark.parametrize("kind", ENDING)
def test_an_error_that_cannot_be_shown_is_named_by_its_type(kind: type[BaseException]) -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise kind

    @workflow
    async def order() -> None:
        raise Mute

    error = Play(order).error
    assert (error["type"], error["message"]) == ("Mute", "Mute")


@pytest.mark.parametrize(("signal", "said"), [("first", ["interrupted"]), ("second", ["cancelled", "interrupted"])])
def test_a_real_interrupt_leaves_the_engine(signal: str, said: list[str]) -> None:
    # In a process of its own: a signal to the one that runs tests may hit what runs them.
    ran = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-m", "tests.workflow.interrupted", signal],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stdout.splitlines(), ran.stderr) == (0, said, "")
