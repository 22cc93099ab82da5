"""What workflow code may use of the engine, inside and outside a workflow."""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from stepward.errors import InvalidPayload, Refused
from stepward.payload import PAYLOAD_BYTES
from stepward.workflow import functions
from stepward.workflow.definition import workflow
from stepward.workflow.functions import (
    continue_as_new,
    current_task,
    now,
    random,
    side_effect,
    uuid4,
    wait_for,
    workflow_logger,
)
from tests.workflow.declared import charge
from tests.workflow.play import START, Play


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (now, "now"),
        (random, "random"),
        (uuid4, "uuid4"),
        (lambda: side_effect(int), "side_effect"),
        (continue_as_new, "continue_as_new"),
        (current_task, "current_task"),
        (lambda: asyncio.run(wait_for("go")), "wait_for"),
    ],
)
def test_outside_a_workflow_the_error_says_so(call: Callable[[], object], name: str) -> None:
    with pytest.raises(Refused, match=rf"{name}\(\) is for workflow code only; found no running workflow"):
        call()


def test_time_and_chance_are_alike_in_every_replay() -> None:
    @workflow
    async def drawing() -> list[Any]:
        drawn = [random(), str(uuid4()), now().isoformat()]
        await charge("o")
        return [*drawn, random(), now().isoformat()]

    play = Play(drawing)
    play.finish("charge/1", later=3)
    assert play.result[2] == datetime.fromtimestamp(START, UTC).isoformat()
    assert play.result[4] == datetime.fromtimestamp(START + 3, UTC).isoformat()
    assert play.verified() is None
    other = Play(drawing, uid="uid-2")
    other.finish("charge/1")
    assert other.result[0] != play.result[0]


def test_a_side_effect_is_recorded_at_once_and_never_called_again() -> None:
    calls: list[int] = []

    def read() -> tuple[int, int]:
        calls.append(1)
        return (1, 2)

    @workflow
    async def reading() -> Any:
        first = side_effect(read)
        await charge("o")
        return [first, side_effect(lambda: "second")]

    play = Play(reading)
    (value,) = play.decisions.recorded
    assert (value.key, value.name, value.kind, value.output, value.ordinal) == (
        "side_effect/1",
        "side_effect",
        "value",
        b"[1,2]",
        1,
    )
    play.restart()
    assert calls == [1]
    play.finish("charge/1")
    assert (play.result, play.verified(), calls) == ([[1, 2], "second"], None, [1])


def test_a_side_effect_must_be_plain_and_json() -> None:
    async def coroutine() -> None: ...

    @workflow
    async def wrong() -> list[str]:
        errors: list[str] = []
        for fn in (coroutine, object):
            try:
                side_effect(fn)
            except InvalidPayload as error:
                errors.append(str(error))
        return errors

    plain, json = Play(wrong).result
    assert "expected a plain function" in plain
    assert "expected a value that JSON can hold" in json


@pytest.mark.parametrize("name", ["", "two words", "line\n", "x" * 201])
def test_a_signal_that_could_not_be_sent_is_not_waited_for(name: str) -> None:
    @workflow
    async def waiting() -> None:
        await wait_for(name)

    assert Play(waiting).error["message"].startswith("wait_for: expected a signal's name")


def test_continue_as_new_packs_the_next_arguments_and_runs_finally_blocks() -> None:
    @workflow
    async def counting(number: int, name: str = "n") -> None:
        try:
            await charge(name, number)
            try:
                continue_as_new(number + 1, name="m")
            except Exception:
                return
        finally:
            await charge("finally")

    play = Play(counting, 1)
    play.finish("charge/1")
    assert play.end is None
    play.finish("charge/2")
    assert play.continued == [2, "m"]


@pytest.mark.parametrize(("limit", "fits"), [(100, False), (2 * PAYLOAD_BYTES, True)])
def test_the_next_runs_arguments_are_bound_by_the_limit_that_was_set(limit: int, fits: bool) -> None:
    text = "x" * (limit if not fits else limit - 100)

    @workflow
    async def growing(name: str) -> None:
        continue_as_new(text)

    play = Play(growing, "n", payload_limit=limit)
    if fits:
        assert play.continued == [text]
    else:
        assert play.error["type"] == "PayloadTooLarge"


def test_a_later_run_has_a_time_of_its_own_and_keeps_it() -> None:
    @workflow
    async def ticking(number: int) -> list[Any]:
        begun = [now().timestamp() - START, random()]
        await asyncio.sleep(10)
        if number == 0:
            continue_as_new(number + 1)
        return begun

    play = Play(ticking, 0)
    play.fire(10)
    play.next_run()
    assert play.execution.next_timer == START + 120
    play.now += 5
    assert play.restart().recorded == []
    assert play.execution.next_timer == START + 120
    play.fire(10)
    assert play.result[0] == 110
    assert play.verified() is None


def test_a_later_run_whose_beginning_was_not_recorded_never_records_it() -> None:
    @workflow
    async def waiting() -> None:
        await charge("o")
        continue_as_new()

    play = Play(waiting)
    play.finish("charge/1")
    play.next_run()
    del play.rows["continue_as_new/1"]
    assert play.restart().recorded == []


def test_continue_as_new_leaves_a_task_group() -> None:
    @workflow
    async def grouped() -> None:
        async def child() -> None:
            await charge("o")
            continue_as_new()

        async with asyncio.TaskGroup() as group:
            group.create_task(child())
            group.create_task(charge("other"))

    play = Play(grouped)
    play.finish("charge/1")
    play.finish("charge/2") if play.end is None else None
    assert play.continued == []


def test_the_current_task_is_given() -> None:
    @workflow(version="9")
    async def telling() -> list[Any]:
        task = current_task()
        return [task.id, task.uid, task.workflow, task.version, task.run, task.labels, task.replaying]

    assert Play(telling).result == ["id of uid-1", "uid-1", "telling", "9", 1, {"shop": "north"}, False]


def test_a_workflow_logger_is_silent_while_replaying(caplog: pytest.LogCaptureFixture) -> None:
    @workflow
    async def talking() -> None:
        log = workflow_logger()
        log.info("begun")
        await charge("o")
        log.info("charged", extra={"amount": 3})
        await charge("o")
        log.info("done")

    with caplog.at_level(logging.INFO, logger=functions.LOGGER):
        play = Play(talking)
        play.finish("charge/1")
        play.restart()
        play.finish("charge/2")
        assert play.verified() is None
        functions.logger.info("outside")
    assert [record.message for record in caplog.records] == ["begun", "charged", "done", "outside"]
    charged = vars(caplog.records[1])
    assert (charged["task_id"], charged["workflow"], charged["amount"]) == ("id of uid-1", "talking", 3)


def test_workflow_code_sees_and_leaves_no_context_variables() -> None:
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="unset")

    @workflow
    async def looking() -> list[str]:
        seen = [variable.get()]
        variable.set("inside")
        await charge("o")
        seen.append(variable.get())
        return seen

    token = variable.set("outside")
    play = Play(looking)
    play.finish("charge/1")
    assert variable.get() == "outside"
    variable.reset(token)
    assert play.result == ["unset", "inside"]


def test_each_run_draws_its_own_chance() -> None:
    @workflow
    async def drawing(drawn: list[float]) -> list[float]:
        drawn.append(random())
        if len(drawn) < 3:
            continue_as_new(drawn)
        return drawn

    play = Play(drawing, [])
    for _ in range(2):
        play.next_run()
    assert len(set(play.result)) == 3
