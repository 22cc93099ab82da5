"""The simulation itself: it repeats exactly, delivers faults, finds nothing in sound code and every planted bug."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from stepward.testing.bugs import BUGS
from stepward.testing.run import run_seed
from stepward.testing.simulate import Summary, main, results

FEW = range(40)
FINGERPRINTS = "from stepward.testing.run import run_seed; print(*[run_seed(s).fingerprint for s in (3, 18, 57)])"
ENOUGH = 300
SHOWN_AT = {
    "answered_while_committing": 63,
    "attempt_not_checked": 18,
    "called_past_complete_by": 7,
    "decision_without_compare": 63,
    "deferred_asked_again": 5,
    "doubt_forgotten": 8,
    "events_settled_before_they_are_heard": 6,
    "eviction_runs_finally": 36,
    "fence_not_checked": 7,
    "finished_and_nobody_told": 7,
    "goes_forward_after_undo": 7,
    "inbox_not_compared": 20,
    "messages_not_known_again": 7,
    "overtaken_never_comes_back": 7,
    "signals_lost_on_takeover": 17,
}
"""The first seeds that show bugs which few seeds show, as `simulate --bugs` tells; later seeds follow if they move."""
AT_THE_EDGE = {
    "an event was heard again",
    "a message ended its process",
    "a message that is good came to its end",
    "somebody outside finished a step",
    "a completion was refused: used",
    "submission.dead_letter",
    "submission.duplicate",
}
"""What has to come about if private response queues and submissions are to be proved."""


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
def test_each_planted_bug_is_found(bug: str) -> None:
    first = SHOWN_AT.get(bug, 0)
    found = results(range(first, first + ENOUGH), bug, 1)
    assert any(result.violations for result in found), f"{bug} went unseen"


def test_the_command_names_the_seed_and_the_invariant(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--seeds", "5", "--jobs", "1", "--bug", "error_without_alert"]) == 1
    told = capsys.readouterr().out
    assert "S20" in told
    assert "--seeds 1 --from" in told


def test_the_command_ends_well(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--seeds", "5", "--jobs", "1", "--verbose"]) == 0
    assert "faults" in capsys.readouterr().out
