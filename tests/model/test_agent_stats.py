"""The error rate and the durations of attempts at an Agent, from the rows of steps."""

from __future__ import annotations

import pytest

from stepward.model.agent_stats import StepAttempts, agent_stats
from stepward.model.states import StepState


def step(state: str = "completed", attempt: int = 1, seconds: float | None = 1.0, agent: str = "pay") -> StepAttempts:
    ended = None if seconds is None else 100.0 + seconds
    return StepAttempts(agent, StepState(state), attempt, 100.0, ended, None)


@pytest.mark.parametrize(
    ("found", "attempts", "failed"),
    [
        (step(), 1, 0),
        (step(attempt=3), 3, 2),
        (step("undone", 2), 2, 1),
        (step("failed", 2), 2, 2),
        (step("to_repeat", 2, None), 2, 2),
        (step("running", 3, None), 2, 2),
        (step("abandoned", 2), 1, 1),
    ],
    ids=lambda value: f"{value.state}-{value.attempt}" if isinstance(value, StepAttempts) else "",
)
def test_attempts_before_the_newest_failed_and_the_newest_by_the_state(
    found: StepAttempts, attempts: int, failed: int
) -> None:
    (stats,) = agent_stats([found])
    assert (stats.attempts, stats.failed, stats.error_rate) == (attempts, failed, failed / attempts)


def test_percentiles_are_those_of_steps_that_ended_by_their_own_attempt() -> None:
    steps = [step(seconds=float(number)) for number in range(1, 101)]
    (stats,) = agent_stats([*steps, step("running", 1, None), step("undone", 1, 5_000.0)])
    assert (stats.p50_seconds, stats.p95_seconds) == (50.0, 95.0)


def test_a_step_that_was_finished_from_outside_has_no_duration() -> None:
    (stats,) = agent_stats([StepAttempts("pay", StepState.COMPLETED, 1, 100.0, 9_000.0, 101.0)])
    assert (stats.attempts, stats.p50_seconds, stats.p95_seconds) == (1, None, None)


def test_agents_are_counted_apart_and_one_without_an_ended_attempt_is_left_out() -> None:
    found = agent_stats([step(agent="b"), step("failed", agent="a"), step("running", 1, None, agent="c")])
    assert [(stats.name, stats.failed) for stats in found] == [("a", 1), ("b", 0)]
