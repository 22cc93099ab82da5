"""The phases of a task in memory: their moves are a table, and nothing else moves a task."""

from __future__ import annotations

from itertools import product

import pytest

from stepward.clock import SystemClock
from stepward.model.records import Task
from stepward.scheduler.tasks.active_task import ActiveTask
from stepward.scheduler.tasks.phases import BY_RECORD, LEAVING, PHASE_MOVES, Phase
from stepward.scheduler.tasks.task_cache import IdleTasks
from stepward.scheduler.turn_budget import TurnBudget
from stepward.settings import Settings

BUDGET = TurnBudget(SystemClock())
GOES_ON = set(Phase) - LEAVING


def before(phase: Phase) -> set[Phase]:
    return {known for known, after in PHASE_MOVES.items() if phase in after}


def in_phase(phase: Phase) -> ActiveTask:
    active = ActiveTask(Task(uid="1", id="a", workflow="w", version="1", input=b"null", created_at=1.0))
    active.phase, active.leaving = phase, phase in LEAVING
    return active


def test_every_phase_has_its_moves_and_none_stays_where_it_is() -> None:
    assert set(PHASE_MOVES) == set(Phase)
    assert not [phase for phase, after in PHASE_MOVES.items() if phase in after]


def test_a_task_enters_memory_once() -> None:
    assert before(Phase.LOADING) == set()
    assert in_phase(Phase.LOADING).phase is ActiveTask(in_phase(Phase.LOADING).task).phase


def test_workflow_code_runs_from_a_record_or_a_run_that_was_left() -> None:
    assert before(Phase.ADVANCING) == {Phase.LOADING, Phase.CONTINUING}


def test_undo_begins_with_a_record_that_was_read_and_leads_to_nothing_in_this_memory() -> None:
    for phase in (Phase.UNDOING, Phase.SETTLING):
        assert before(phase) == {Phase.LOADING}
        assert PHASE_MOVES[phase] <= LEAVING


def test_only_workflow_code_ends_its_run_or_is_stopped() -> None:
    assert before(Phase.CLEANING) == before(Phase.STOPPED) == {Phase.ADVANCING}
    assert before(Phase.CONTINUING) == {Phase.ADVANCING, Phase.CLEANING}


def test_any_task_may_be_released_or_read_again_at_any_time() -> None:
    for phase in (Phase.RELEASED, Phase.RELOADING):
        assert before(phase) == set(Phase) - {phase}


def test_a_task_that_leaves_goes_on_in_no_other_way() -> None:
    assert not [phase for phase in LEAVING if PHASE_MOVES[phase] & GOES_ON]
    assert not LEAVING & BY_RECORD


@pytest.mark.parametrize(("start", "end"), list(product(Phase, Phase)))
def test_a_task_makes_the_moves_of_the_table_and_no_other(start: Phase, end: Phase) -> None:
    active = in_phase(start)
    if end is start or end in PHASE_MOVES[start]:
        active.enter(end)
        assert (active.phase, active.leaving) == (end, end in LEAVING)
    else:
        with pytest.raises(RuntimeError, match=f"task a: expected one of PHASE_MOVES, found {start} to {end}"):
            active.enter(end)
        assert active.phase is start


def test_a_task_that_is_to_be_read_again_is_not_evicted_in_the_same_turn() -> None:
    idle = IdleTasks(Settings(evict_after=1.0))
    active = in_phase(Phase.ADVANCING)
    idle.enter(active, 1.0)
    assert list(idle.to_let_go(3.0, BUDGET)) == [active]
    active.enter(Phase.RELOADING)
    assert list(idle.to_let_go(3.0, BUDGET)) == []


def test_a_task_that_goes_on_in_a_turn_is_not_evicted_in_it() -> None:
    idle = IdleTasks(Settings(evict_after=1.0))
    active = in_phase(Phase.ADVANCING)
    idle.enter(active, 1.0)
    active.changed()
    assert list(idle.to_let_go(3.0, BUDGET)) == []
