"""A replay that does not fit its record, or code that does what none may, is Broken and nothing else."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from stepward.workflow.decisions import Broken
from stepward.workflow.definition import Workflow, step, workflow
from stepward.workflow.functions import side_effect, wait_for
from stepward.workflow.refusals import DRIVING, NETWORK, PROCESS, THREADS
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


def changed(before: Body, after: Body, *finished: str) -> str:
    play = Play(of(before))
    for key in finished:
        play.finish(key)
    play.restart(of(after))
    return broken(play)


async def charging_a() -> None:
    await charge("a")


async def charging_b() -> None:
    try:
        await charge("b")
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


def test_other_input_names_both_sides() -> None:
    message = changed(charging_a, charging_b)
    assert message == (
        'task id of uid-1 (changing@4, run 1): step charge/1: the record holds the input ["a",0], the '
        'workflow asked for it with ["b",0]; give the changed workflow a new version'
    )


def test_long_inputs_are_shortened() -> None:
    async def long() -> None:
        await charge("x" * 5000)

    assert len(changed(long, charging_a)) < 500


def test_other_kind_names_both_sides() -> None:
    @step(name="charge", transaction=True)
    async def other(connection: object, order: str) -> None: ...

    async def after() -> None:
        await other("a")

    message = changed(charging_a, after)
    assert "holds a step of kind local, the workflow asked for one of kind transaction" in message


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

    for after in (returning, raising):
        message = changed(before, after, "charge/1")
        assert "step charge/1: the record holds its outcome as delivered (ordinal 1)" in message


def test_ending_before_a_recorded_outcome_is_broken() -> None:
    async def before() -> None:
        await charge("a")
        await ship("a")

    async def after() -> None:
        task = asyncio.create_task(charge("a"))
        await asyncio.sleep(0)
        assert not task.done()

    assert "charge/1" in changed(before, after, "charge/1")


def test_giving_up_a_recorded_outcome_is_broken() -> None:
    async def before() -> None:
        await charge("a")
        await ship("a")

    async def after() -> None:
        task = asyncio.create_task(charge("a"))
        await asyncio.sleep(0)
        task.cancel()
        await ship("a")

    assert "gave it up before" in changed(before, after, "charge/1")


def test_another_delay_is_broken() -> None:
    def sleeping(seconds: float) -> Body:
        async def sleep() -> None:
            await asyncio.sleep(seconds)
            await charge("a")

        return sleep

    play = Play(of(sleeping(5)))
    play.fire(5)
    play.restart(of(sleeping(6)))
    message = broken(play)
    assert "step timer/1: the record holds the input 5.0, the workflow asked for it with 6.0" in message


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
    assert "step side_effect/1" in broken(play)
    assert calls == []


def test_nothing_is_delivered_once_broken() -> None:
    play = Play(of(charging_a))
    play.restart(of(charging_b))
    play.execution.resolve("charge/1", output=b"1", error=None, at=play.now)
    play.execution.fire(play.now)
    assert isinstance(play.execution.ended, Broken)
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
        "get_task_factory",
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
    assert "step signal:go/1" in broken(play)


@pytest.mark.parametrize("in_task", [False, True])
def test_a_workflow_that_exits_ends_itself_alone(in_task: bool) -> None:
    async def leave() -> None:
        sys.exit(3)

    @workflow
    async def leaving() -> None:
        await (asyncio.create_task(leave()) if in_task else leave())

    assert Play(leaving).error["type"] == "SystemExit"
