"""Code that does what none may is Broken, a replay that does not fit its record has Diverged, and nothing else."""

from __future__ import annotations

import asyncio
import inspect
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from stepward.workflow.decisions import Broken, Diverged
from stepward.workflow.definition import Workflow, step, workflow
from stepward.workflow.event_loop.refusals import DRIVING, NETWORK, PROCESS, THREADS
from stepward.workflow.functions import side_effect, wait_for
from tests.workflow.declared import charge, ship
from tests.workflow.play import Play

Body = Callable[[], Awaitable[Any]]


def of(body: Body) -> Workflow[[], Any]:
    """A workflow that always has the same name, whatever it does."""

    @workflow(name="changing", version="4")
    async def changing() -> Any:
        return await body()

    return changing


def broken(play: Play) -> str:
    assert isinstance(play.end, Broken), play.end
    decisions = play.decisions
    assert (decisions.calls, decisions.recorded, decisions.delivered, decisions.abandoned) == ([], [], [], [])
    return play.end.message


def diverged(play: Play) -> str:
    assert isinstance(play.end, Diverged), play.end
    decisions = play.decisions
    assert (decisions.calls, decisions.recorded, decisions.delivered, decisions.abandoned) == ([], [], [], [])
    return play.end.message


def changed(before: Body, after: Body, *finished: str) -> str:
    play = Play(of(before))
    for key in finished:
        play.finish(key)
    play.restart(of(after))
    return diverged(play)


async def charging_a() -> None:
    await charge("a")


async def shipping() -> None:
    try:
        await ship("b")
    except BaseException as error:
        raise AssertionError("the end must not be catchable") from error


async def decided_before() -> None:
    asyncio.get_running_loop().create_task(charge("a"))
    await asyncio.sleep(0)
    side_effect(lambda: 1)
    await threads()


def test_what_was_decided_before_it_broke_is_dropped() -> None:
    broken(Play(of(decided_before)))


def test_nothing_else_runs_once_broken_or_ended() -> None:
    seen: list[str] = []

    async def breaking() -> None:
        asyncio.get_running_loop().create_task(threads())
        asyncio.get_running_loop().call_soon(seen.append, "after")
        await charge("a")

    async def ending() -> None:
        asyncio.get_running_loop().call_soon(seen.append, "after")

    broken(Play(of(breaking)))
    assert Play(of(ending)).result is None
    assert seen == []


def test_another_step_names_both_sides_and_the_line() -> None:
    line = inspect.getsourcelines(shipping)[1] + 2
    assert changed(charging_a, shipping) == (
        "task id of uid-1 (changing@4, run 1): the record has charge as command 1, the code asks for ship "
        f"(test_execution_broken.py:{line}); serve the code that fits the record; changed code needs patched(…) or a "
        "new version"
    )


def test_other_kind_names_both_sides() -> None:
    @step(name="charge", transaction=True)
    async def other(connection: object, order: str) -> None: ...

    async def after() -> None:
        await other("a")

    message = changed(charging_a, after)
    assert "the record has charge (kind local) as command 1, the code asks for charge (kind transaction)" in message


def test_edited_input_of_a_resubmitted_step_is_accepted() -> None:
    play = Play(of(charging_a))
    play.rows["charge/1"].input = b'["edited",0]'
    play.rows["charge/1"].generation = 1
    play.restart()
    play.finish("charge/1")
    assert play.result is None


def test_ending_without_a_recorded_step_is_broken() -> None:
    async def before() -> None:
        await charge("a")
        await ship("a")

    async def returning() -> None: ...

    async def raising() -> None:
        raise ValueError

    message = changed(before, returning, "charge/1")
    assert "the record goes on with charge (ordinal 1), the code returned" in message
    message = changed(before, raising, "charge/1")
    assert "the record goes on with charge (ordinal 1), the code raised ValueError: " in message
    assert " at test_execution_broken.py:" in message


def test_ending_before_a_recorded_outcome_is_broken() -> None:
    async def before() -> None:
        await charge("a")
        await ship("a")

    async def after() -> None:
        task = asyncio.create_task(charge("a"))
        await asyncio.sleep(0)
        assert not task.done()

    assert "the record goes on with charge (ordinal 1), the code returned" in changed(before, after, "charge/1")


def test_giving_up_a_recorded_outcome_is_broken() -> None:
    async def before() -> None:
        await charge("a")
        await ship("a")

    async def after() -> None:
        task = asyncio.create_task(charge("a"))
        await asyncio.sleep(0)
        task.cancel()
        await wait_for("go")

    assert "asks for one more: a wait for signal go" in changed(before, after, "charge/1")


def test_abandoning_a_delivered_outcome_is_a_divergence() -> None:
    async def waiting_for_both() -> None:
        await asyncio.gather(charge("a"), ship("a"))

    async def waiting_for_one() -> None:
        charging = asyncio.create_task(charge("a"))
        shipping = asyncio.create_task(ship("a"))
        await asyncio.sleep(0)
        charging.cancel()
        await shipping

    message = changed(waiting_for_both, waiting_for_one, "charge/1")
    assert "the record has charge as command 1, delivered (ordinal 1); the code gave it up before" in message
    message = changed(waiting_for_both, waiting_for_one)
    assert "the record has charge as command 1, under way; the code gave it up before" in message


def test_arguments_and_delays_may_change_under_a_running_task() -> None:
    def sleeping(seconds: float, order: str) -> Body:
        async def sleep() -> None:
            await asyncio.sleep(seconds)
            await charge(order)

        return sleep

    play = Play(of(sleeping(5, "a")))
    play.fire(5)
    play.restart(of(sleeping(6, "b")))
    play.finish("charge/1")
    assert play.result is None


def test_a_broken_value_stops_its_caller_whatever_it_catches() -> None:
    calls: list[int] = []

    async def before() -> None:
        side_effect(lambda: 1)
        await charge("a")

    async def after() -> None:
        try:
            side_effect(lambda: calls.append(1))
        except BaseException:
            side_effect(lambda: calls.append(2))
        await ship("b")

    play = Play(of(before))
    play.rows["side_effect/1"].kind = play.rows["charge/1"].kind
    play.restart(of(after))
    assert "the record has side_effect (kind local)" in diverged(play)
    assert calls == []


def test_nothing_is_delivered_once_broken() -> None:
    play = Play(of(charging_a))
    play.restart(of(shipping))
    play.execution.resolve("charge/1", output=b"1", error=None, at=play.now)
    play.execution.fire(play.now)
    assert isinstance(play.execution.ended, Diverged)
    assert play.execution.take().delivered == []


async def threads() -> None:
    await asyncio.to_thread(time.monotonic)


async def connection() -> None:
    await asyncio.open_connection("localhost", 1)


async def process() -> None:
    await asyncio.create_subprocess_exec("true")


async def swallowing() -> None:
    for _ in range(3):
        try:
            await asyncio.to_thread(time.monotonic)
        except BaseException:
            continue
    await charge("a")


@pytest.mark.parametrize("body", [threads, connection, process, swallowing])
def test_input_and_output_break_the_workflow_even_if_it_catches(body: Body) -> None:
    message = broken(Play(of(body)))
    assert "a workflow does no I/O: move it into an operation or step" in message


@pytest.mark.parametrize("name", THREADS + NETWORK + PROCESS + DRIVING)
def test_each_refused_method_is_named(name: str) -> None:
    async def refused() -> None:
        getattr(asyncio.get_running_loop(), name)()

    assert f"called loop.{name};" in broken(Play(of(refused)))


def test_every_method_of_a_loop_is_either_made_or_refused() -> None:
    loop_class = type(_loop_of(Play(of(charging_a))))
    left = {
        name
        for name in vars(asyncio.AbstractEventLoop)
        if not name.startswith("_") and getattr(loop_class, name) is getattr(asyncio.AbstractEventLoop, name)
    }
    assert left == {
        "default_exception_handler",
        "get_exception_handler",
        "set_debug",
        "set_exception_handler",
        "set_task_factory",
    }


def _loop_of(play: Play) -> asyncio.AbstractEventLoop:
    seen: list[asyncio.AbstractEventLoop] = []

    async def look() -> None:
        seen.append(asyncio.get_running_loop())

    Play(of(look))
    return seen[0]


def test_an_endless_loop_that_waits_for_nothing_is_found() -> None:
    async def spinning() -> None:
        while True:  # noqa: ASYNC110  the mistake that is to be found
            await asyncio.sleep(0)

    assert "1,000,000 callbacks without waiting for anything" in broken(Play(of(spinning)))


def test_as_completed_needs_an_order() -> None:
    async def unordered() -> None:
        for one in asyncio.as_completed({charge("a"), charge("b")}):
            await one

    assert "without an order" in broken(Play(of(unordered)))


def test_a_recorded_signal_that_is_never_waited_for_is_broken() -> None:
    async def before() -> None:
        await wait_for("go")
        await charge("a")

    play = Play(of(before))
    play.signal("go", 1)

    async def after() -> None: ...

    play.restart(of(after))
    assert "the record goes on with a wait for signal go (ordinal 1), the code returned" in diverged(play)


@pytest.mark.parametrize("in_task", [False, True])
def test_a_workflow_that_exits_ends_itself_alone(in_task: bool) -> None:
    async def leave() -> None:
        sys.exit(3)

    @workflow
    async def leaving() -> None:
        await (asyncio.create_task(leave()) if in_task else leave())

    assert Play(leaving).error["type"] == "SystemExit"
