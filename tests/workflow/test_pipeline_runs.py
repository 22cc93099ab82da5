"""Pipelines on the engine: what starts when, under which keys, and what a failure leaves."""

from __future__ import annotations

from typing import Any

import pytest

from stepward.model.pipeline_plan import NO_INPUT
from stepward.model.states import StepKind, StepState
from stepward.workflow.decisions import Diverged
from stepward.workflow.definition import step
from stepward.workflow.pipeline.pipeline import Pipeline
from stepward.workflow.pipeline.stages import From, Given, Stage
from tests.workflow.declared import charge, refund, ship, track
from tests.workflow.play import Play, row


@step()
async def join(one: Any, other: Any) -> Any:
    return [one, other]


diamond = Pipeline(
    "diamond",
    {
        "charge": Stage(charge, Given("order"), Given("amount")),
        "left": Stage(ship, Given("order"), after=["charge"]),
        "right": Stage(ship, From("charge")),
        "join": Stage(join, From("left"), From("right")),
    },
    given={"order": str, "amount": int},
    result="join",
)
apart = Pipeline(
    "apart",
    {
        "slow": Stage(charge, "slow"),
        "fast": Stage(refund, "fast"),
        "after_slow": Stage(ship, "after slow", after=["slow"]),
        "after_fast": Stage(ship, "after fast", after=["fast"]),
        "last": Stage(ship, "last", after=["after_slow", "after_fast"]),
    },
)


def test_a_stage_starts_when_all_that_it_waits_for_is_done() -> None:
    play = Play(diamond, "A", 5)
    assert play.running == ["charge/1"]
    play.finish("charge/1", "paid")
    assert play.running == ["ship/1", "ship/2"]
    play.finish("ship/2", "R")
    assert play.running == ["ship/1"]
    play.finish("ship/1", "L")
    assert play.running == ["join/1"]
    play.finish("join/1", "both")
    assert play.result == "both"
    assert [(one.key, one.input) for one in play.rows.values()] == [
        ("charge/1", b'["A",5]'),
        ("ship/1", b'["A"]'),
        ("ship/2", b'["paid"]'),
        ("join/1", b'["L","R"]'),
    ]
    assert play.verified() is None


def test_keys_follow_the_plan_whichever_stage_starts_first() -> None:
    play = Play(apart)
    assert play.running == ["charge/1", "refund/1"]
    play.finish("refund/1")
    assert play.running == ["charge/1", "ship/2"]
    assert play.rows["ship/2"].input == b'["after fast"]'
    play.finish("ship/2")
    play.finish("charge/1")
    assert play.running == ["ship/1"]
    play.finish("ship/1")
    play.finish("ship/3")
    assert play.result is None
    assert [play.rows[key].number for key in ("charge/1", "refund/1", "ship/2", "ship/1", "ship/3")] == [1, 2, 3, 4, 5]
    assert play.verified() is None


@pytest.mark.parametrize("finished", range(5))
def test_it_goes_on_from_its_record_anywhere(finished: int) -> None:
    play = Play(apart)
    order = ["refund/1", "ship/2", "charge/1", "ship/1", "ship/3"]
    for key in order[:finished]:
        play.finish(key)
    assert play.restart().calls == []
    for key in order[finished:]:
        play.finish(key)
    assert play.result is None
    assert play.verified() is None


def test_after_a_failure_nothing_new_starts_and_what_is_under_way_may_end() -> None:
    play = Play(apart)
    play.fail("refund/1", "no")
    assert (play.running, play.end) == (["charge/1"], None)
    play.finish("charge/1")
    assert play.running == []
    error = play.error
    assert (error["message"], error["step"], error["step_failed"]) == ("no", "refund/1", True)
    assert "ship/1" not in play.rows


def test_the_first_failure_is_the_one_that_leaves() -> None:
    play = Play(apart)
    play.fail("refund/1", "first")
    play.fail("charge/1", "second")
    assert (play.error["message"], play.error["step"]) == ("first", "refund/1")


def test_a_step_that_is_repeated_after_the_failure_goes_on_from_there() -> None:
    play = Play(apart)
    play.fail("refund/1")
    play.finish("charge/1", "paid")
    again = play.rows["refund/1"]
    again.state, again.ordinal, again.error, again.finished_at, again.generation = (
        StepState.RUNNING,
        None,
        None,
        None,
        1,
    )
    play.end = None
    play.restart()
    # What the other branch had to leave alone starts now, before the failed one is through.
    assert play.running == ["refund/1", "ship/1"]
    play.finish("ship/1")
    play.finish("refund/1")
    play.finish("ship/2")
    play.finish("ship/3")
    assert play.result is None


def test_a_result_of_another_type_than_declared_is_a_bug() -> None:
    @step()
    async def count() -> int:
        return 1

    play = Play(Pipeline("wrong", {"count": Stage(count), "other": Stage(ship, "x")}))
    play.finish("count/1", "many")
    assert play.end is None
    play.finish("ship/1")
    assert (play.error["type"], play.error["step_failed"]) == ("InvalidPayload", False)


def test_another_workflow_is_a_stage_like_any_other() -> None:
    play = Play(Pipeline("child", {"track": Stage(track, "P")}, result="track"))
    assert play.decisions.calls[0].action is track
    play.finish("parcels.track/1", 3)
    assert play.result == 3


def test_a_step_marked_as_done_before_it_was_asked_for_is_met_without_its_input() -> None:
    play = Play(diamond, "A", 5)
    play.finish("charge/1", "paid")
    play.finish("ship/1", "L")
    del play.rows["ship/2"]
    by_hand = row("join/1", StepKind.LOCAL, 4, NO_INPUT, StepState.COMPLETED)
    by_hand.output, by_hand.finished_at = b'"J"', play.now
    play.rows["join/1"] = by_hand
    play.restart()
    play.finish("ship/2", "R")
    assert play.result == "J"
    assert play.rows["join/1"].ordinal == 4


def test_a_changed_plan_under_a_running_task_is_found() -> None:
    play = Play(diamond, "A", 5)
    play.finish("charge/1")
    play.restart(
        Pipeline(
            "diamond",
            {"charge": Stage(charge, Given("a"), 6), "b": Stage(charge, "", Given("b"))},
            given={"a": str, "b": int},
        )
    )
    assert isinstance(play.end, Diverged)
    assert "the record has nothing as command 2 before it tells of charge (ordinal 1)" in play.end.message


def test_it_is_put_away_without_deciding_anything() -> None:
    play = Play(apart)
    play.execution.discard()
    assert play.execution.take().calls == []
