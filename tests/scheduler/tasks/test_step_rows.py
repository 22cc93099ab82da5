"""Step rows as rules: when an attempt ends, and what is recorded of a doubt."""

from __future__ import annotations

from typing import Any

import pytest

from stepward.model.failures import read
from stepward.model.messages.requests import Outcome, Reply
from stepward.model.records import Step, Task
from stepward.model.states import StepKind, StepState
from stepward.scheduler.tasks import step_rows as rows
from stepward.scheduler.tasks.active_task import ActiveTask

NOW = 1000.0


def task(deadline: float | None) -> Task:
    return Task(uid="t", id="order", workflow="order", version="1", created_at=0.0, deadline=deadline)


def step(**fields: Any) -> Step:
    usual: dict[str, Any] = {"kind": StepKind.OPERATION, "state": StepState.NOT_STARTED, "complete_seconds": 30.0}
    return Step(task="t", run=1, key="svc.do/1", number=1, name="svc.do", **usual | fields)


@pytest.mark.parametrize(
    ("kind", "deadline", "complete_by"),
    [
        (StepKind.OPERATION, None, NOW + 30),
        (StepKind.OPERATION, NOW + 40, NOW + 30),
        (StepKind.OPERATION, NOW + 5, NOW + 5),
        (StepKind.UNDO, NOW + 5, NOW + 30),
        (StepKind.UNDO, NOW - 5, NOW + 30),
    ],
)
def test_an_attempt_ends_with_its_task_and_an_undo_has_its_own_time(
    kind: StepKind, deadline: float | None, complete_by: float
) -> None:
    started = step(kind=kind)
    ActiveTask(task(deadline)).start(started, NOW)
    assert (started.complete_by, started.attempt, started.state) == (complete_by, 1, StepState.RUNNING)


@pytest.mark.parametrize("before", [False, True])
@pytest.mark.parametrize("now", [False, True])
def test_a_doubt_about_any_attempt_stays_until_one_is_done(before: bool, now: bool) -> None:
    running = step(state=StepState.RUNNING, attempt=2, in_doubt=before)
    told: dict[str, Any] = {"task": "t", "run": 1, "key": "svc.do/1", "attempt": 2}
    refused = Reply(**told, outcome=Outcome.FAILED, error=b'{"message":"no"}', maybe_done=now)
    settled = rows.settled(running, refused)
    assert read(settled.error)["maybe_done"] is (before or now)
    for reply in (refused, settled):
        assert rows.finish(running, reply, None, NOW).in_doubt is (before or now)
    done = Reply(**told, outcome=Outcome.COMPLETED, output=b"1")
    assert rows.finish(running, done, None, NOW).in_doubt is False
