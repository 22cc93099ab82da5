"""The checker of running calls can fail, and a world with a limit holds it."""

from __future__ import annotations

import pytest

from simulation.invariants.running_calls import LIMITED, LIMITED_FROM, RunningCalls
from simulation.run import run_seed

REACHED = "as many calls ran at once as may"
SEED = next(
    seed for seed in range(LIMITED_FROM, LIMITED_FROM + 99) if RunningCalls(seed, float, print, print).limit == 1
)


class Process:
    def __init__(self, *, dead: bool = False) -> None:
        self.dead = dead


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize(
    ("seconds", "process", "is_broken"),
    [
        (0.0, Process(), False),  # It has ended.
        (4.0, Process(dead=True), True),  # Its process has died, and its service may still be at work.
        (6.0, Process(dead=True), False),
    ],
)
def test_a_call_of_a_dead_process_runs_until_its_complete_by(seconds: float, process: Process, is_broken: bool) -> None:
    clock, told = Clock(), list[str]()
    calls = RunningCalls(SEED, clock, lambda invariant, text: told.append(f"{invariant}: {text}"), lambda _: None)
    with calls.running(LIMITED, "k1", 5.0, process):
        pass
    clock.now = seconds
    with calls.running(LIMITED, "k2", 15.0, Process()), calls.running("pay", "k3", 15.0, Process()):
        pass
    assert told == (["S37: the call of k2 is call 2 of those that run, 1 may"] if is_broken else [])


def test_a_call_that_begins_beside_another_breaks_a_limit_of_one() -> None:
    told = list[str]()
    calls = RunningCalls(SEED, Clock(), lambda invariant, text: told.append(invariant), lambda _: None)
    with calls.running(LIMITED, "k1", 5.0, Process()), calls.running(LIMITED, "k2", 5.0, Process()):
        pass
    assert told == ["S37"]


def test_a_world_with_a_limit_reaches_it_and_does_not_exceed_it() -> None:
    result = run_seed(SEED)
    assert result.violations == []
    assert result.situations[REACHED] > 0
