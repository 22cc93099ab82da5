"""The simulation itself: it repeats exactly, delivers faults, finds nothing in sound code and every planted bug."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import Any

import pytest

from simulation.__main__ import Summary, main, results
from simulation.planted_bugs.bugs import BUGS, planted
from simulation.reduction import CALM
from simulation.run import run_seed
from stepward.agent.call_execution import CallExecution

FEW = range(18)
FINGERPRINTS = "from simulation.run import run_seed; print(*[run_seed(s).fingerprint for s in (3, 18, 57)])"
ENOUGH = 300
SHOWN_AT = {
    "answered_while_committing": 346,
    "attempt_not_checked": 28,
    "breaker_never_asks": 27,
    "called_past_complete_by": 7,
    "deadlines_by_own_timers": 12,
    "decision_without_compare": 107,
    "deferred_asked_again": 16,
    "doubt_erased_by_a_repair": 32,
    "doubt_forgotten": 16,
    "events_settled_before_they_are_heard": 6,
    "eviction_runs_finally": 36,
    "failed_undo_taken_for_done": 72,
    "fence_not_checked": 18,
    "finished_and_nobody_told": 7,
    "goes_forward_after_undo": 2,
    "hangs_not_counted": 88,
    "inbox_not_compared": 63,
    "inbox_read_from_its_end": 18,
    "interrupt_of_an_operation_let_through": 16,
    "late_runs_share_their_keys": 82,
    "messages_not_known_again": 7,
    "new_code_not_compared": 147,
    "newest_signal_first": 139,
    "outcome_of_another_command_taken": 191,
    "overtaken_never_comes_back": 7,
    "replies_recorded_unread": 8,
    "rest_of_a_record_unnoticed": 1040,
    "result_of_child_lost": 9,
    "runs_before_the_last_not_undone": 33,
    "same_code_not_compared": 40,
    "signals_lost_on_takeover": 17,
    "undone_key_lost_on_the_way": 13,
    "slots_leased_twice": 320_000_014,
    "values_written_twice": 360_000_000,
    "update_put_again": 88,
}
"""The first seeds that show bugs which few seeds show, as `simulate --bugs` tells; later seeds follow if they move."""
SOME = (
    "attempt_not_checked",
    "doubt_erased_by_a_repair",
    "fence_not_checked",
    "goes_forward_after_undo",
    "outcome_of_another_command_taken",
    "replies_recorded_unread",
)
"""Planted bugs that each change is tried with: one of each kind of guard. ``make faults`` plants all of them."""
AT_THE_EDGE = {
    "an event was heard again",
    "a message ended its process",
    "a message that is good came to its end",
    "somebody outside finished a step",
    "a completion was refused: used",
    "a program ended processed",
    "submission.dead_letter",
    "submission.duplicate",
}
"""Events that must occur if private response queues and submissions are to be tested."""


def fingerprints(hash_seed: str) -> str:
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    done = subprocess.run(
        [sys.executable, "-c", FINGERPRINTS], capture_output=True, text=True, env=environment, check=True
    )
    return done.stdout.strip()


def test_a_seed_repeats_exactly_in_any_process() -> None:
    here = " ".join(run_seed(seed).fingerprint for seed in (3, 18, 57))
    assert fingerprints("1") == here
    assert fingerprints("2") == here


def test_a_few_seeds_hold_every_invariant_and_prove_something() -> None:
    summary = Summary()
    for result in results(FEW, None, 1):
        assert not result.violations, f"seed {result.seed}: {result.violations[0]}"
        summary.add(result)
    assert summary.void is None
    assert {"crash", "pause", "message lost", "store unavailable", "answer lost"} <= set(summary.faults)
    assert summary.processed > summary.tasks / 2
    assert set(summary.situations) >= AT_THE_EDGE


def test_a_run_without_faults_or_without_success_is_void() -> None:
    summary = Summary()
    summary.add(run_seed(3))
    summary.faults.clear()
    assert summary.void == "no fault was delivered"
    summary.add(run_seed(4))
    summary.processed = 0
    assert summary.void is not None


@pytest.mark.parametrize("bug", sorted(BUGS))
def test_what_a_bug_is_planted_into_is_there(bug: str) -> None:
    with planted(bug):
        pass


@pytest.mark.parametrize("bug", SOME)
def test_a_planted_bug_is_found(bug: str) -> None:
    assert is_found(bug), f"{bug} went unseen"


@pytest.mark.faults
@pytest.mark.timeout(600)
@pytest.mark.parametrize("bug", sorted(BUGS))
def test_each_planted_bug_is_found(bug: str) -> None:
    assert is_found(bug), f"{bug} went unseen"


def is_found(bug: str) -> bool:
    first = SHOWN_AT.get(bug, 0)
    return any(result.violations for result in results(range(first, first + ENOUGH), bug, 1))


def test_the_command_names_the_seed_and_the_invariant(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--seeds", "5", "--jobs", "1", "--bug", "error_without_alert"]) == 1
    told = capsys.readouterr().out
    assert "S20" in told
    assert "--seeds 1 --from" in told


def test_the_command_ends_well(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--seeds", "5", "--jobs", "1", "--verbose"]) == 0
    assert "faults" in capsys.readouterr().out


def test_where_no_fault_strikes_nothing_is_tried_or_called_twice() -> None:
    """S36."""
    calm = [run_seed(seed, cut=CALM) for seed in (15, 16, 17)]
    assert [result.violations for result in calm] == [[], [], []]
    assert not any(result.faults for result in calm)


def test_a_call_that_no_fault_explains_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """An Agent that calls its service twice for one answer is seen by the service alone."""

    def called(self: CallExecution, call: Any, target: Any, args: Any, kwargs: Any) -> Any:
        async def twice() -> Any:
            await target.fn(*args, **kwargs)
            return await target.fn(*args, **kwargs)

        return twice()

    monkeypatch.setattr(CallExecution, "_called", called)
    (violation, *_) = run_seed(15, cut=CALM).violations
    assert re.match(r"S36: \w+ was called 2 times under ", violation)
