"""The replay of a finished task in development finds what would break in production."""

from __future__ import annotations

import itertools
from typing import Any

from stepward.model.states import TaskState
from stepward.workflow.definition import workflow
from stepward.workflow.replay.history_replay import verify
from tests.workflow.declared import charge, ship
from tests.workflow.play import Play

COUNTER = itertools.count()


def test_a_result_that_differs_is_found() -> None:
    @workflow
    async def counting() -> int:
        return next(COUNTER)

    message = Play(counting).verified()
    assert message is not None
    assert message.startswith("task id of uid-1: the record holds the result 0, the replay gave 1; look for what")


def test_another_input_is_found() -> None:
    @workflow
    async def counting() -> Any:
        return await charge("o", next(COUNTER))

    play = Play(counting)
    play.finish("charge/1")
    assert "the code asks for it with" in (play.verified() or "")


def test_a_step_that_only_the_replay_asks_for_is_found() -> None:
    switch: list[int] = []

    @workflow
    async def switching() -> Any:
        await charge("o")
        if switch:
            await ship("o")

    play = Play(switching)
    play.finish("charge/1")
    switch.append(1)
    assert "the record ended without ship/1, the replay asked for it" in (play.verified() or "")


def test_a_replay_that_waits_or_fails_is_found() -> None:
    switch: list[str] = []

    @workflow
    async def switching() -> Any:
        if switch == ["wait"]:
            await charge("o")
        if switch == ["fail"]:
            raise ValueError

    play = Play(switching)
    switch[:] = ["fail"]
    assert "the record ended processed, the replay failed" in (play.verified() or "")


def test_a_replay_that_waits_for_time_is_found() -> None:
    switch: list[str] = []

    @workflow
    async def switching() -> None:
        import asyncio

        if switch:
            await asyncio.sleep(5)

    play = Play(switching)
    switch.append("wait")
    assert "the record ended, the replay still waits for timer" in (play.verified() or "")


def test_a_task_in_error_need_not_end_again() -> None:
    @workflow
    async def waiting() -> None:
        await charge("o")

    play = Play(waiting)
    play.task.state = TaskState.ERROR
    assert verify(waiting, play.task, list(play.rows.values())) is None
