"""The agenda: each task once, and nothing kept of those that left."""

from __future__ import annotations

from stepward.clock import SystemClock
from stepward.scheduler.tasks.task_cache import TaskTimers
from stepward.scheduler.turn_budget import TurnBudget

BUDGET = TurnBudget(SystemClock())


def test_a_task_is_due_once_at_its_earliest_instant() -> None:
    agenda = TaskTimers()
    for instant in (5.0, 3.0, 4.0):
        agenda.at(instant, "a")
    assert list(agenda.due(2.0, BUDGET)) == []
    assert list(agenda.due(9.0, BUDGET)) == ["a"]
    agenda.at(3.0, "a")
    assert list(agenda.due(9.0, BUDGET)) == ["a"]


def test_a_task_that_left_is_due_no_more() -> None:
    agenda = TaskTimers()
    agenda.at(1.0, "a")
    agenda.at(2.0, "b")
    agenda.leave("a")
    assert list(agenda.due(9.0, BUDGET)) == ["b"]
    agenda.leave("never there")


def test_far_instants_of_tasks_that_left_do_not_pile_up() -> None:
    agenda = TaskTimers()
    agenda.at(86_400.0, "stays")
    for number in range(10_000):
        agenda.at(86_400.0, f"t{number}")
        agenda.leave(f"t{number}")
    assert len(agenda._due) < 100
    assert list(agenda.due(90_000.0, BUDGET)) == ["stays"]
