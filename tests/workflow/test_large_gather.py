"""A gather of very many calls makes its tasks in parts, and everything runs in the order of asyncio's own gather."""

from __future__ import annotations

import asyncio
import asyncio.tasks
import gc
import warnings
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Any

import pytest

from stepward import Agent, workflow
from stepward.workflow.definition import Workflow
from stepward.workflow.event_loop import futures, gathering
from stepward.workflow.execution import SLICE
from tests.workflow.play import Play, histories
from tests.workflow.test_slices import COUNT, begun, slices, wide

shelves = Agent("large")
Gather = Callable[..., Awaitable[list[Any]]]
SHOWN: ContextVar[str] = ContextVar("SHOWN", default="none")
COUNTED = 17
OWN = asyncio.tasks.gather
"""asyncio's own, under a name that leads nowhere else in workflow code."""


@shelves.operation()
async def pick(number: int) -> int:
    return number


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(futures, "LARGE", 4)
    monkeypatch.setattr(gathering, "PART", 3)


class Seen(list[str]):
    """What the coroutines of one run did, in order."""

    async def one(self, number: int, *, fails: int = -1) -> int:
        task = asyncio.current_task()
        assert task is not None
        self.append(f"{number} begins as {task.get_name()}, {hash(task)}, {SHOWN.get()}")
        if number == fails:
            raise LookupError(str(number))
        try:
            found = await pick(number)
        except asyncio.CancelledError as error:
            self.append(f"{number} is cancelled: {error}")
            raise
        self.append(f"{number} has {found}")
        return found

    async def beside(self, name: str) -> None:
        for turn in range(3):
            self.append(f"{name} {turn}")
            await asyncio.sleep(0)


async def plain(gather: Gather, seen: Seen) -> Any:
    SHOWN.set("before")
    first = asyncio.create_task(seen.beside("first"))
    gathered = gather(*(seen.one(number) for number in range(COUNTED)))
    SHOWN.set("after")
    second = asyncio.create_task(seen.beside("second"))
    seen.append(f"gathered as {hash(gathered)}, second {second.get_name()} as {hash(second)}")
    await asyncio.wait([first, second])
    return await gathered


async def failing(gather: Gather, seen: Seen) -> Any:
    try:
        return await gather(*(seen.one(number, fails=5) for number in range(COUNTED)))
    except LookupError as error:
        seen.append(f"failed: {error}")
        await seen.beside("afterwards")
        return await pick(99)


async def kept_failures(gather: Gather, seen: Seen) -> Any:
    found = await gather(*(seen.one(number, fails=5) for number in range(COUNTED)), return_exceptions=True)
    return [repr(each) for each in found]


async def cancelled_at_once(gather: Gather, seen: Seen) -> Any:
    gathered: Any = gather(*(seen.one(number) for number in range(COUNTED)))
    beside = asyncio.create_task(seen.beside("beside"))
    seen.append(f"cancels: {gathered.cancel('enough')}")
    with pytest.raises(asyncio.CancelledError):
        await gathered
    seen.append(f"cancels again: {gathered.cancel()}")
    await beside
    return await pick(99)


async def cancelled_midway(gather: Gather, seen: Seen) -> Any:
    gathered: Any = gather(*(seen.one(number) for number in range(COUNTED)), return_exceptions=True)
    await asyncio.sleep(0)
    gathered.cancel()
    try:
        return [repr(each) for each in await gathered]
    except asyncio.CancelledError:
        return await pick(99)


async def timed_out(gather: Gather, seen: Seen) -> Any:
    try:
        async with asyncio.timeout(5):
            return await gather(*(seen.one(number) for number in range(COUNTED)))
    except TimeoutError:
        return await pick(99)


async def nested(gather: Gather, seen: Seen) -> Any:
    async def inner(start: int) -> Any:
        return await gather(*(seen.one(start + number) for number in range(6)))

    return await gather(*(inner(10 * number) for number in range(6)))


async def left_behind(gather: Gather, seen: Seen) -> Any:
    gather(*(seen.one(number) for number in range(COUNTED)))
    return "ended"


PROGRAMS = [plain, failing, kept_failures, cancelled_at_once, cancelled_midway, timed_out, nested, left_behind]


def made(program: Callable[[Gather, Seen], Any], *, own: bool, seen: Seen) -> Workflow[Any, Any]:
    @workflow(name=program.__name__)
    async def run() -> Any:
        return await program(OWN if own else asyncio.gather, seen)

    return run


def played(
    play: Play, program: object, *, answer: Callable[[list[str]], str], others: Workflow[Any, Any] | None
) -> None:
    """Play to the end; with ``others``, a replay by that code and one by its own after each answer."""
    answers = 0
    while play.end is None:
        answers += 1
        if program is timed_out and answers == 4:
            play.fire(10)
        else:
            key = answer(play.running)
            play.finish(key, int(key.rpartition("/")[2]))
        if others is not None and play.end is None:
            play.restart(others)
            play.restart()


@pytest.mark.parametrize("answer", [min, max], ids=["in order", "backwards"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_everything_runs_as_with_asyncios_own_gather(
    program: Callable[[Gather, Seen], Any], answer: Callable[[list[str]], str]
) -> None:
    found = []
    for own in (True, False):
        seen = Seen()
        play = Play(made(program, own=own, seen=seen))
        played(play, program, answer=answer, others=None)
        found.append((list(seen), histories(list(play.rows.values())), play.end))
    assert found[0] == found[1]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
@pytest.mark.parametrize("own", [True, False])
def test_a_record_of_either_gather_is_replayed_by_the_other(program: Callable[[Gather, Seen], Any], own: bool) -> None:
    seen = Seen()
    play = Play(made(program, own=own, seen=seen))
    played(play, program, answer=max, others=made(program, own=not own, seen=seen))
    assert play.verified() is None


def test_a_run_that_ends_before_all_tasks_are_made_leaves_no_coroutine_unawaited() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        play = Play(made(left_behind, own=False, seen=Seen()))
        assert play.result == "ended"
        play.execution.discard()
        gc.collect()


def test_a_call_of_gather_makes_no_task_of_its_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(futures, "LARGE", 1_000)
    monkeypatch.setattr(gathering, "PART", 500)
    asked = slices(begun(wide, b"[%d]" % COUNT))
    assert asked[0] == []
    assert max(map(len, asked)) <= SLICE
    assert sum(map(len, asked)) == COUNT


def test_a_gather_with_a_future_or_a_call_twice_is_asyncios_own() -> None:
    seen = Seen()

    async def mixed(gather: Gather, seen: Seen) -> Any:
        task = asyncio.create_task(seen.one(0))
        call = seen.one(1)
        twice = seen.one(2)
        return await gather(task, call, twice, twice, *(seen.one(number) for number in range(3, 9)))

    play = Play(made(mixed, own=False, seen=seen))
    while play.end is None:
        play.finish(play.running[0], 1)
    assert play.result == [1] * 10


def test_a_wide_run_is_closed_in_parts_and_decides_nothing_meanwhile() -> None:
    seen = Seen()
    ended: list[int] = []

    async def waiting(gather: Gather, seen: Seen) -> Any:
        async def one(number: int) -> int:
            try:
                return await pick(number)
            finally:
                ended.append(number)
                await pick(1_000 + number)

        return await gather(*(one(number) for number in range(COUNTED)))

    play = Play(made(waiting, own=False, seen=seen))
    parts = []
    while not play.execution.discard(5):
        parts.append(len(ended))
        assert play.execution.take().calls == []
    assert parts == [5, 10, 15]
    assert ended == list(reversed(range(COUNTED)))
    assert play.execution.take().calls == []
