"""Steps: how they are asked for, keyed and delivered, and how a run ends."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from stepward.errors import InvalidArguments, StepFailed
from stepward.model.states import StepKind
from stepward.workflow.definition import step, workflow
from tests.workflow.declared import charge, ship, track
from tests.workflow.play import Play

NO_TEXT: Any = object()


@workflow
async def sequential(order: str) -> list[Any]:
    return [await charge(order, 1), await ship(order), await charge(order, 2)]


def test_a_step_is_asked_for_once_under_its_name_and_occurrence() -> None:
    play = Play(sequential, "o")
    assert [(call.key, call.number, call.input) for call in play.decisions.calls] == [("charge/1", 1, b'["o",1]')]
    play.finish("charge/1", "a")
    assert [(call.key, call.number) for call in play.decisions.calls] == [("ship/1", 2)]
    assert [(one.key, one.ordinal) for one in play.decisions.delivered] == [("charge/1", 1)]
    play.finish("ship/1", "b")
    assert play.running == ["charge/2"]
    play.finish("charge/2", "c")
    assert play.result == ["a", "b", "c"]
    assert play.verified() is None


def test_taking_twice_gives_nothing_the_second_time() -> None:
    play = Play(sequential, "o")
    again = play.execution.take()
    assert (again.calls, again.recorded, again.delivered, again.abandoned, again.end) == (
        [],
        [],
        [],
        [],
        None,
    )


def test_a_restart_asks_for_nothing_that_is_recorded() -> None:
    play = Play(sequential, "o")
    play.finish("charge/1", "a")
    decisions = play.restart()
    assert (decisions.calls, decisions.delivered) == ([], [])
    play.finish("ship/1", "b")
    play.finish("charge/2", "c")
    assert play.result == ["a", "b", "c"]


def test_a_child_workflow_is_a_step_of_kind_child() -> None:
    @workflow
    async def parent() -> Any:
        return await track("p1") + 1

    play = Play(parent)
    assert play.decisions.calls[0].action.kind is StepKind.CHILD
    play.finish("parcels.track/1", 2)
    assert play.result == 3


def test_outcomes_are_delivered_one_at_a_time_and_the_order_is_recorded() -> None:
    @workflow
    async def racing() -> list[Any]:
        return list(await asyncio.gather(charge("a"), charge("b"), ship("c")))

    play = Play(racing)
    for key in ("ship/1", "charge/2", "charge/1"):
        play.finish(key, key)
    assert [play.rows[key].ordinal for key in ("charge/1", "charge/2", "ship/1")] == [3, 2, 1]
    assert play.result == ["charge/1", "charge/2", "ship/1"]
    assert play.verified() is None


def test_a_failed_step_raises_step_failed_which_the_workflow_may_catch() -> None:
    @workflow
    async def careful() -> Any:
        try:
            await charge("o")
        except StepFailed as error:
            return [str(error), error.step, error.maybe_done, error.data]

    play = Play(careful)
    play.fail("charge/1", "card refused", maybe_done=True, data={"code": 7})
    expected = ["card refused", "charge/1", True, {"code": 7}]
    assert play.result == expected
    assert play.verified() is None


def test_a_step_failed_that_leaves_is_distinguished_from_a_bug() -> None:
    play = Play(sequential, "o")
    play.fail("charge/1", "card refused", data={"code": 7})
    assert play.error == {
        "message": "card refused",
        "type": "StepFailed",
        "step": "charge/1",
        "data": {"code": 7},
        "maybe_done": False,
        "failure": {"type": "Unrecoverable"},
        "step_failed": True,
    }


def test_a_group_of_step_failures_alone_is_a_step_failure() -> None:
    @workflow
    async def grouped(bug: bool) -> None:
        async def buggy() -> None:
            try:
                await ship("o")
            finally:
                if bug:
                    raise ValueError("bug")

        async with asyncio.TaskGroup() as group:
            group.create_task(charge("o"))
            group.create_task(buggy())

    play = Play(grouped, False)
    play.fail("charge/1", maybe_done=True)
    assert (play.error["step"], play.error["maybe_done"], play.error["step_failed"]) == (
        "charge/1",
        True,
        True,
    )
    play = Play(grouped, True)
    play.fail("charge/1")
    assert (play.error["type"], play.error["step_failed"]) == ("ExceptionGroup", False)
    assert play.error["message"].endswith(": StepFailed: refused; ValueError: bug")
    assert play.error["at"].endswith("in buggy")


def test_a_bug_names_its_place() -> None:
    @workflow
    async def buggy() -> None:
        raise KeyError("missing")

    error = Play(buggy).error
    assert (error["type"], error["message"], error["step_failed"]) == ("KeyError", "'missing'", False)
    assert error["at"].startswith("test_execution_steps.py:")
    assert error["at"].endswith("in buggy")
    assert error["traceback"].endswith("KeyError: 'missing'")


@pytest.mark.parametrize("broken", [lambda: json.loads("{"), lambda: ship(NO_TEXT)], ids=["library", "stepward"])
def test_the_place_of_a_bug_is_the_applications_own_line(broken: Callable[[], Any]) -> None:
    @workflow
    async def buggy() -> None:
        await broken()

    error = Play(buggy).error
    assert error["at"].startswith("test_execution_steps.py:")
    assert "decoder.py" in error["traceback"] or "encoding.py" in error["traceback"]


def test_a_coroutine_that_is_returned_is_reported_as_a_forgotten_await() -> None:
    @workflow
    async def forgetful() -> Any:
        return ship("o")

    assert Play(forgetful).error["message"] == (
        "result of forgetful: expected a value that JSON can hold, found a coroutine: was an `await` forgotten?"
    )


def test_a_cancelled_error_without_cause_is_a_bug() -> None:
    @workflow
    async def cancelled() -> None:
        raise asyncio.CancelledError

    assert "which was not cancelled" in Play(cancelled).error["message"]


def test_a_result_that_is_no_json_is_a_bug_in_one_line() -> None:
    @workflow
    async def odd() -> Any:
        return object()

    assert Play(odd).error["message"].startswith("result of odd: expected a value that JSON can hold")


def test_so_is_one_that_was_encoded_before_and_is_none() -> None:
    @workflow
    async def odd() -> Any:
        return msgspec.Raw(b"{no JSON")

    assert Play(odd).error["message"].startswith("result of odd: expected JSON, found JSON is malformed")


def test_a_result_over_the_limit_is_a_bug() -> None:
    @workflow
    async def long() -> Any:
        return "x" * 200

    assert Play(long, payload_limit=100).error["type"] == "PayloadTooLarge"


def test_arguments_that_do_not_fit_are_a_bug() -> None:
    @workflow
    async def typed(count: int) -> int:
        return count

    assert Play(typed, "many").error["type"] == "InvalidArguments"


def test_wrong_arguments_of_a_step_reach_the_caller_at_once() -> None:
    @workflow
    async def wrong() -> Any:
        with pytest.raises(InvalidArguments, match="arguments of charge"):
            await charge("o", 1, 2)  # type: ignore[call-arg]
        return await charge("o")

    play = Play(wrong)
    assert play.running == ["charge/1"]


def test_a_result_is_converted_to_the_declared_type() -> None:
    @step()
    async def count() -> set[int]:
        return {1}

    @workflow
    async def counting() -> bool:
        return isinstance(await count(), set)

    play = Play(counting)
    play.finish("count/1", [1, 2])
    assert play.result is True
