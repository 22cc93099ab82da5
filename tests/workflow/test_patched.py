"""``patched(id)``: the new way for tasks that have not come there yet, the old way for those that passed."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from stepward.errors import Refused
from stepward.model.states import StepKind
from stepward.workflow.decisions import Diverged
from stepward.workflow.definition import Workflow, workflow
from stepward.workflow.functions import patched, side_effect, wait_for
from tests.workflow.declared import charge, refund, ship
from tests.workflow.play import Play


@workflow(name="order")
async def before(order: str) -> list[Any]:
    return [await charge(order), await ship(order), await wait_for("approval")]


@workflow(name="order")
async def after(order: str) -> list[Any]:
    told = [await charge(order)]
    if patched("fraud-check"):
        told.append(await refund("checked"))
    return [*told, await ship(order), await wait_for("approval")]


def to_the_end(play: Play) -> list[Any]:
    while play.running:
        play.finish(play.running[0], "done")
    play.signal("approval", "yes")
    result: list[Any] = play.result
    return result


def test_a_new_task_goes_the_new_way_and_its_marker_is_recorded() -> None:
    play = Play(after, "o")
    play.finish("charge/1", "c")
    marker = play.rows["patched:fraud-check/1"]
    assert (marker.kind, marker.number, marker.output) == (StepKind.VALUE, 2, b"true")
    assert play.running == ["refund/1"]
    assert play.restart().calls == []
    assert to_the_end(play) == ["c", "done", "done", "yes"]
    assert play.verified() is None


def test_a_task_that_has_not_come_there_yet_goes_the_new_way() -> None:
    play = Play(before, "o")
    assert play.restart(after).recorded == []
    play.finish("charge/1", "c")
    assert play.running == ["refund/1"]


@pytest.mark.parametrize("shipped", [False, True])
def test_a_task_that_has_passed_it_goes_the_old_way_and_nothing_is_recorded(shipped: bool) -> None:
    play = Play(before, "o")
    play.finish("charge/1", "c")
    if shipped:
        play.finish("ship/1", "s")
    decisions = play.restart(after)
    assert (decisions.calls, decisions.recorded) == ([], [])
    assert "patched:fraud-check/1" not in play.rows
    assert to_the_end(play)[0] == "c"
    assert "refund/1" not in play.rows
    play.workflow = after
    assert play.verified() is None


def test_the_record_of_a_task_that_ended_before_the_patch_replays_with_it() -> None:
    @workflow(name="short")
    async def short() -> Any:
        return await charge("o")

    @workflow(name="short")
    async def longer() -> Any:
        told = await charge("o")
        if patched("more"):
            await ship("o")
        return told

    play = Play(short)
    play.finish("charge/1", "c")
    play.workflow = longer
    assert play.verified() is None


def test_a_task_that_passed_it_while_only_a_wait_was_asked_for_after_it_goes_the_old_way() -> None:
    """A timer that was cancelled left no row, but later deliveries count it."""

    @workflow(name="order")
    async def old() -> Any:
        async with asyncio.timeout(9):
            await charge("o")
        return await wait_for("go")

    @workflow(name="order")
    async def new() -> Any:
        if patched("first"):
            await ship("first")
        async with asyncio.timeout(9):
            await charge("o")
        return await wait_for("go")

    play = Play(old)
    play.finish("charge/1")
    assert play.restart(new).calls == []
    play.signal("go", 1)
    assert play.result == 1


def test_each_turn_of_a_loop_decides_for_itself() -> None:
    def loop(new: bool) -> Workflow[[], Any]:
        @workflow(name="loop")
        async def turns() -> list[Any]:
            told = []
            for turn in range(3):
                if new and patched("twice"):
                    told.append(await ship(f"new {turn}"))
                told.append(await charge("o", turn))
            return told

        return turns

    play = Play(loop(new=False))
    play.finish("charge/1", 1)
    play.restart(loop(new=True))
    play.finish("charge/2", 2)
    assert play.running == ["ship/1"]
    play.restart(loop(new=True))
    play.finish("ship/1", "s")
    play.finish("charge/3", 3)
    assert play.result == [1, 2, "s", 3]


def test_a_marker_that_the_code_no_longer_asks_for_is_named() -> None:
    play = Play(after, "o")
    play.finish("charge/1")
    play.restart(before)
    assert isinstance(play.end, Diverged)
    assert 'the record has patched("fraud-check") as command 2, the code asks for ship' in play.end.message


def test_a_value_is_not_drawn_where_the_record_has_none() -> None:
    drawn: list[int] = []

    @workflow(name="order")
    async def drawing(order: str) -> Any:
        task = asyncio.create_task(charge(order))
        await asyncio.sleep(0)
        side_effect(lambda: drawn.append(1))
        return await task

    play = Play(before, "o")
    play.finish("charge/1")
    play.restart(drawing)
    assert isinstance(play.end, Diverged)
    assert "before it tells of charge (ordinal 1), the code asks for one more: side_effect" in play.end.message
    assert drawn == []


def test_an_id_that_is_no_name_is_refused() -> None:
    with pytest.raises(Refused, match=r"patched: expected an id of 1 to 200"):
        patched("not a name")
