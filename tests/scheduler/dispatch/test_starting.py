"""What a turn starts is held back until its commit, and begins only where there is room."""

from __future__ import annotations

from stepward.clock import SystemClock
from stepward.model.records import Step, Task
from stepward.model.states import StepKind, StepState
from stepward.scheduler.admission.fair_share import Room
from stepward.scheduler.admission.windows import Windows
from stepward.scheduler.dispatch.dispatcher import StepStarts
from stepward.scheduler.tasks.active_task import ActiveTask
from stepward.scheduler.turn_budget import TurnBudget

NOW = 10.0


def task() -> ActiveTask:
    return ActiveTask(Task(uid="t", id="a", workflow="w", version="1", input=b"null", created_at=1.0))


def step(number: int) -> Step:
    return Step(
        task="t",
        run=1,
        key=f"svc.do/{number}",
        number=number,
        name="svc.do",
        kind=StepKind.OPERATION,
        state=StepState.NOT_STARTED,
        agent="svc",
    )


def test_a_step_without_room_waits_and_is_not_started() -> None:
    windows = Windows({"svc": Room(1)})
    starts, active, (first, second) = StepStarts(windows), task(), (step(1), step(2))
    for each in (first, second):
        starts.ask(active, each, NOW)
    assert (first.state, second.state) == (StepState.RUNNING, StepState.NOT_STARTED)
    assert (first.attempt, first.started_at) == (1, NOW)
    assert starts.begin_commit() == [(active, first)]
    windows.free(first)
    assert [key for _, _, key in windows.ready(TurnBudget(SystemClock()))] == [second.key]


def test_what_started_is_uncommitted_until_the_end_of_its_own_commit() -> None:
    starts, active, (first, second) = StepStarts(Windows({"svc": Room(9)})), task(), (step(1), step(2))
    starts.ask(active, first, NOW)
    assert starts.uncommitted() == {id(first)}
    started = starts.begin_commit()
    starts.resume(active, second)
    assert starts.uncommitted() == {id(first), id(second)}
    starts.end_commit()
    assert started == [(active, first)]
    assert starts.uncommitted() == {id(second)}
    assert starts.begin_commit() == [(active, second)]


def test_an_attempt_whose_commit_fails_never_leaves() -> None:
    starts, active = StepStarts(Windows({"svc": Room(9)})), task()
    starts.ask(active, step(1), NOW)
    starts.begin_commit()
    starts.end_commit()
    assert starts.begin_commit() == []
