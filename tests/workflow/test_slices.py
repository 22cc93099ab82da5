"""A workflow that asks for very much at once runs on in slices, and decides what it would decide in one go."""

from __future__ import annotations

import asyncio
import itertools
from typing import Any

import pytest

from stepward import Agent, workflow
from stepward.model.records import Task
from stepward.workflow.decisions import Broken, Completed, StepCall
from stepward.workflow.definition import Workflow
from stepward.workflow.event_loop import loop
from stepward.workflow.execution import SLICE, Execution
from tests.workflow.play import Play

shelves = Agent("shelves")
COUNT = 3 * SLICE + 7


@shelves.operation()
async def pick(number: int) -> int:
    return number


@workflow()
async def wide(count: int) -> int:
    return sum(await asyncio.gather(*[pick(number) for number in range(count)]))


@workflow()
async def after_one(count: int) -> int:
    await pick(0)
    return sum(await asyncio.gather(*[pick(number) for number in range(count)]))


@workflow()
async def restless() -> None:
    for _ in itertools.count():
        await asyncio.sleep(0)


def begun(workflow: Workflow[Any, Any], arguments: bytes = b"[]") -> Execution:
    task = Task(uid="uid-1", id="T-1", workflow=workflow.name, version="1", input=arguments, created_at=0.0)
    execution = Execution(workflow, task, [])
    execution.start(0.0, in_slices=True)
    return execution


def slices(execution: Execution) -> list[list[StepCall]]:
    """What the execution asks for in each slice up to its first wait."""
    asked = [execution.take().calls]
    while execution.is_cut:
        execution.go_on()
        asked.append(execution.take().calls)
    return asked


def test_steps_are_asked_for_in_slices_in_the_same_order() -> None:
    whole = [call.key for call in Play(wide, COUNT).decisions.calls]
    asked = slices(begun(wide, b"[%d]" % COUNT))
    assert [call.key for calls in asked for call in calls] == whole
    assert max(map(len, asked)) <= SLICE
    assert len(asked) > COUNT // SLICE


def test_a_workflow_that_asks_for_little_is_not_cut() -> None:
    assert [len(calls) for calls in slices(begun(wide, b"[9]"))] == [9]


def test_a_replay_asks_for_what_a_process_that_died_between_two_slices_had_not_asked_for() -> None:
    play = Play(wide, COUNT)
    whole = list(play.rows)
    play.rows = {key: play.rows[key] for key in whole[:SLICE]}
    assert [call.key for call in play.restart().calls] == whole[SLICE:]


def test_an_outcome_comes_after_all_that_was_asked_for() -> None:
    execution = begun(after_one, b"[%d]" % COUNT)
    execution.take()
    execution.resolve("shelves.pick/1", output=b"0", error=None, at=1.0)
    first = execution.take()
    assert (len(first.calls) <= SLICE, execution.is_cut) == (True, True)
    execution.resolve("shelves.pick/2", output=b"1", error=None, at=2.0)
    decisions = execution.take()
    assert (len(first.calls) + len(decisions.calls), execution.is_cut) == (COUNT, False)
    assert [(each.key, each.asked) for each in decisions.delivered] == [("shelves.pick/2", COUNT + 1)]


def test_slices_come_to_the_same_end() -> None:
    execution = begun(wide, b"[%d]" % COUNT)
    keys = [call.key for calls in slices(execution) for call in calls]
    for number, key in enumerate(keys):
        execution.resolve(key, output=b"%d" % number, error=None, at=1.0)
    while execution.is_cut:
        execution.go_on()
    assert execution.ended == Completed(b"%d" % sum(range(COUNT)))


def test_a_workflow_that_waits_for_nothing_is_stopped_though_it_runs_in_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "CALLBACKS", 5 * SLICE)
    execution = begun(restless)
    passes = 0
    while execution.is_cut:
        execution.go_on()
        passes += 1
    assert isinstance(execution.ended, Broken)
    assert passes <= 6
