"""The tables of moves: complete, closed, and final where they say so."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import TypeVar

import pytest

from stepward.model.states import STEP_MOVES, TASK_ENDS, TASK_MOVES, StepState, TaskState

State = TypeVar("State", bound=StrEnum)


def reachable(moves: Mapping[State, frozenset[State]], start: State) -> set[State]:
    seen = {start}
    todo = [start]
    while todo:
        fresh = moves[todo.pop()] - seen
        seen |= fresh
        todo.extend(fresh)
    return seen


def test_every_state_has_its_moves_and_none_stays_where_it_is() -> None:
    assert set(TASK_MOVES) == set(TaskState)
    assert set(STEP_MOVES) == set(StepState)
    assert not [state for state, after in TASK_MOVES.items() if state in after]
    assert not [state for state, after in STEP_MOVES.items() if state in after]


def test_every_state_can_be_reached_from_the_first() -> None:
    assert reachable(TASK_MOVES, TaskState.PENDING) == set(TaskState)
    assert reachable(STEP_MOVES, StepState.NOT_STARTED) == set(StepState)


@pytest.mark.parametrize("state", [state for state in TaskState if state not in TASK_ENDS])
def test_every_living_task_can_come_to_each_kind_of_end(state: TaskState) -> None:
    assert {TaskState.UNDONE, TaskState.CANCELLED, TaskState.ERROR} <= reachable(TASK_MOVES, state)


def test_ends_are_left_by_operators_only_to_be_undone_or_resubmitted() -> None:
    assert TASK_MOVES[TaskState.UNDONE] == TASK_MOVES[TaskState.CANCELLED] == frozenset()
    assert TASK_MOVES[TaskState.PROCESSED] == {TaskState.UNDOING}
    assert TASK_MOVES[TaskState.ERROR] == {TaskState.PENDING, TaskState.UNDOING}


def test_once_undo_began_nothing_goes_forward_but_through_an_operator() -> None:
    assert TASK_MOVES[TaskState.UNDOING] == {TaskState.UNDONE, TaskState.CANCELLED, TaskState.ERROR}


def test_a_recorded_success_is_never_taken_back_other_than_by_undo() -> None:
    assert STEP_MOVES[StepState.COMPLETED] == {StepState.UNDONE}
    assert STEP_MOVES[StepState.UNDONE] == STEP_MOVES[StepState.SKIPPED] == frozenset()


def test_the_supervisor_can_make_both_of_its_moves() -> None:
    assert {StepState.TO_REPEAT, StepState.FAILED} <= STEP_MOVES[StepState.RUNNING]
