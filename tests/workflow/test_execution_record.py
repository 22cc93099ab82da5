"""Abandoned steps, the contents of the record, and the effect of a changed workflow on it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from stepward.errors import StepFailed
from stepward.model.states import StepState
from stepward.workflow.definition import workflow
from stepward.workflow.functions import current_task
from tests.workflow.declared import charge, ship
from tests.workflow.play import START, Play


@workflow
async def sequential(order: str) -> list[Any]:
    return [await charge(order, 1), await ship(order), await charge(order, 2)]


def test_a_step_that_timed_out_is_abandoned_and_its_late_outcome_ignored() -> None:
    @workflow
    async def impatient() -> Any:
        try:
            async with asyncio.timeout(10):
                await charge("o")
        except TimeoutError:
            return await ship("o")

    play = Play(impatient)
    play.fire(10)
    assert play.decisions.abandoned == ["charge/1"]
    assert [call.key for call in play.decisions.calls] == ["ship/1"]
    play.execution.resolve("charge/1", output=b"1", error=None, at=play.now)
    assert play.execution.take().delivered == []
    decisions = play.restart()
    assert (decisions.abandoned, decisions.recorded, decisions.calls) == ([], [], [])
    play.finish("ship/1", "s")
    assert play.result == "s"
    assert play.verified() is None


@pytest.mark.parametrize("state", [StepState.ABANDONED, StepState.SKIPPED, StepState.UNDONE])
def test_a_step_given_up_never_resolves_whatever_became_of_it(state: StepState) -> None:
    @workflow
    async def impatient() -> Any:
        try:
            async with asyncio.timeout(10):
                await charge("o")
        except TimeoutError:
            await ship("o")
            return "gave up"

    play = Play(impatient)
    play.fire(10)
    play.record("charge/1", "late")
    play.rows["charge/1"].state = state
    decisions = play.restart()
    assert (decisions.abandoned, decisions.delivered, decisions.calls) == ([], [], [])
    play.finish("ship/1")
    assert (play.result, play.verified()) == ("gave up", None)


def test_an_outcome_that_was_delivered_counts_though_it_was_undone_since() -> None:
    play = Play(sequential, "o")
    play.finish("charge/1", "a")
    play.rows["charge/1"].state = StepState.UNDONE
    play.restart()
    assert play.execution.waits_for == "ship/1"


def test_the_loser_of_a_race_is_abandoned() -> None:
    @workflow
    async def race() -> Any:
        tasks = [asyncio.create_task(charge("a")), asyncio.create_task(ship("b"))]
        done, left = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in left:
            task.cancel()
        await asyncio.wait(left)
        return [task.result() for task in done]

    play = Play(race)
    play.finish("ship/1", "s")
    assert (play.result, play.decisions.abandoned) == (["s"], ["charge/1"])
    assert play.verified() is None


def test_whatever_is_pending_at_the_end_is_abandoned() -> None:
    @workflow
    async def leaving() -> str:
        task = asyncio.create_task(charge("o"))
        await ship("o")
        return str(task.done())

    play = Play(leaving)
    play.finish("ship/1")
    assert (play.result, play.decisions.abandoned) == ("False", ["charge/1"])
    assert play.verified() is None


def test_a_step_requested_and_abandoned_before_it_was_taken_was_never_requested() -> None:
    @workflow
    async def hasty() -> str:
        task = asyncio.create_task(charge("o"))
        await asyncio.sleep(0)
        task.cancel()
        return "gone"

    play = Play(hasty)
    assert (play.decisions.calls, play.decisions.abandoned, play.result) == ([], [], "gone")
    assert play.verified() is None


def test_a_recorded_outcome_never_delivered_is_delivered_as_live() -> None:
    play = Play(sequential, "o")
    play.record("charge/1", "a")
    decisions = play.restart()
    assert [(one.key, one.ordinal) for one in decisions.delivered] == [("charge/1", 1)]
    assert play.running == ["ship/1"]


REFUSED: dict[str, Any] = {
    "data": {"limit": 5},
    "maybe_done": True,
    "at": "bank.py:7",
    "attempt": 2,
    "earlier": [{"attempt": 1, "type": "TimeoutError"}],
}


@workflow
async def told_of_a_failure(order: str, is_awaited_late: bool) -> list[Any]:
    paying = asyncio.create_task(charge(order))
    if is_awaited_late:
        await ship(order)
    try:
        await paying
    except StepFailed as error:
        told = [str(error), error.step, error.maybe_done, error.data, error.failure]
    await ship(order)
    return told


@pytest.mark.parametrize("is_awaited_late", [False, True])
@pytest.mark.parametrize("became", [None, StepState.FAILED, StepState.UNDONE])
def test_a_replay_raises_the_failure_that_was_raised_live(is_awaited_late: bool, became: StepState | None) -> None:
    """In every place: delivered before it was awaited, undone since, or (None) recorded and delivered in the replay."""
    play = Play(told_of_a_failure, "o", is_awaited_late)
    play.fail("charge/1", "no funds", **REFUSED)
    failed = play.rows["charge/1"]
    if became is None:
        play = Play(told_of_a_failure, "o", is_awaited_late)
        play.rows["charge/1"] = failed
        failed.ordinal = failed.asked = None
    else:
        failed.state = became
    play.restart()
    for key in play.running:
        play.finish(key)
    if is_awaited_late:
        play.restart()
        play.finish("ship/2")
    failure = {name: REFUSED[name] for name in ("at", "attempt", "earlier")} | {"type": "Unrecoverable"}
    assert play.result == ["no funds", "charge/1", True, {"limit": 5}, failure]


def test_an_outcome_never_delivered_whose_step_was_given_up_stays_so() -> None:
    @workflow
    async def impatient() -> str:
        try:
            async with asyncio.timeout(10):
                await charge("o")
        except TimeoutError:
            await ship("o")
        return "gave up"

    play = Play(impatient)
    play.fire(10)
    play.record("charge/1", "late")
    play.rows["charge/1"].state = StepState.ABANDONED
    assert play.restart().delivered == []
    play.finish("ship/1")
    assert play.result == "gave up"


def test_time_never_goes_back() -> None:
    @workflow
    async def timed() -> float:
        await charge("o")
        await charge("o")
        return asyncio.get_running_loop().time()

    play = Play(timed)
    play.finish("charge/1", later=10)
    play.finish("charge/2", later=-5)
    assert (play.result, play.verified()) == (START + 10, None)


def test_replaying_tells_recorded_outcomes_from_live_ones() -> None:
    @workflow
    async def telling() -> list[bool]:
        told = [current_task().replaying]
        await charge("o")
        told.append(current_task().replaying)
        await ship("o")
        return [*told, current_task().replaying]

    play = Play(telling)
    assert not play.execution.replaying
    play.finish("charge/1")
    play.restart()
    assert not play.execution.replaying
    play.finish("ship/1")
    assert play.result == [True, True, False]


def test_recorded_orders_come_before_outcomes_never_delivered() -> None:
    @workflow
    async def both() -> list[str]:
        order: list[str] = []

        async def one(name: str) -> None:
            await charge(name)
            order.append(name)

        await asyncio.gather(one("a"), one("b"))
        return order

    play = Play(both)
    play.record("charge/1")
    play.execution.discard()
    play.rows["charge/2"].ordinal = 1
    play.record("charge/2")
    decisions = play.restart()
    assert [(one.key, one.ordinal) for one in decisions.delivered] == [("charge/1", 2)]
    assert play.result == ["b", "a"]


def test_steps_still_under_way_are_not_asked_for_again() -> None:
    for state in (StepState.NOT_STARTED, StepState.RUNNING, StepState.TO_REPEAT):
        play = Play(sequential, "o")
        play.rows["charge/1"].state = state
        assert play.restart().calls == []
        assert play.execution.waits_for == "charge/1"


def test_a_history_past_its_limit_fails_and_names_the_way_out() -> None:
    @workflow
    async def endless() -> None:
        for _ in range(9):
            await charge("o")

    play = Play(endless, max_steps=3)
    for number in (1, 2, 3):
        play.finish(f"charge/{number}")
    assert "continue_as_new" in play.error["message"]
    assert play.decisions.calls == []


def test_a_thousand_steps() -> None:
    @workflow
    async def many() -> int:
        results = await asyncio.gather(*(charge("o", n) for n in range(500)))
        for n in range(500):
            results.append(await charge("p", n))
        return sum(results)

    play = Play(many)
    for number in range(1000):
        play.finish(f"charge/{number + 1}", 1)
    assert (play.result, play.verified()) == (1000, None)


def test_time_is_that_of_the_last_outcome() -> None:
    @workflow
    async def timed() -> list[float]:
        loop = asyncio.get_running_loop()
        times = [loop.time()]
        await charge("o")
        return [*times, loop.time()]

    play = Play(timed)
    play.finish("charge/1", later=7)
    assert play.result == [START, START + 7]
    assert play.verified() is None


def test_a_workflow_that_waits_for_nothing_outside_fails_at_once() -> None:
    @workflow
    async def stuck() -> None:
        await charge("o")
        await asyncio.Event().wait()

    play = Play(stuck)
    play.finish("charge/1")
    assert play.error["type"] == "WaitsForNothing"


def test_what_it_waits_for_is_shown_to_operators() -> None:
    @workflow
    async def waiting() -> None:
        await asyncio.gather(charge("a"), charge("b"), ship("c"))
        await asyncio.sleep(5)

    play = Play(waiting)
    assert play.execution.waits_for == "charge/1, +2 more"
    for key in play.running:
        play.finish(key)
    assert play.execution.waits_for == "timer"
    play.fire(5)
    assert play.result is None
    assert play.execution.next_timer is None
    assert play.execution.waits_for is None


def test_nothing_is_delivered_after_the_end() -> None:
    @workflow
    async def leaving() -> None:
        task = asyncio.create_task(charge("o"))
        await ship("o")
        task.add_done_callback(lambda _: None)

    play = Play(leaving)
    play.finish("ship/1")
    play.execution.resolve("charge/1", output=b"1", error=None, at=play.now)
    play.execution.signal(1, "s", b"1", play.now)
    play.execution.fire(play.now + 100)
    assert play.execution.take().delivered == []


def test_what_a_repair_set_aside_is_no_part_of_the_replay() -> None:
    play = Play(sequential, "o")
    play.finish("charge/1", "c1")
    aside = play.rows.pop("charge/1")
    aside.key, aside.set_aside_at = "charge/1~1", play.now
    play.rows = {"charge/1~1": aside}
    assert [call.key for call in play.restart().calls] == ["charge/1"]
    play.finish("charge/1", "again")
    assert [delivered.ordinal for delivered in play.decisions.delivered] == [2]
