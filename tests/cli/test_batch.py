"""``stepward batch``: previews, starts and steers acts in bulk."""

from __future__ import annotations

from pathlib import Path

from .conftest import SHOP, Stepward, one_line
from .stores import as_json

ERRORS = "state = 'error'"


def test_a_preview_counts_and_says_what_each_of_the_first_would_do(store: Path, stepward: Stepward) -> None:
    count = as_json(stepward, "tasks", "--where", ERRORS, "--count")["number"]
    shown = stepward("batch", "preview", "cancel", "--where", ERRORS)
    assert shown.exit_code == 0
    assert shown.stdout.startswith(f"cancel: {count} task")
    assert "take it" in shown.stdout
    assert stepward("batch").stdout == "No batches.\n"


def test_a_batch_is_started_carried_out_and_listed(store: Path, stepward: Stepward) -> None:
    count = as_json(stepward, "tasks", "--where", ERRORS, "--count")["number"]
    words = ("batch", "start", "cancel", "--where", ERRORS, "--rate", "1000", "--reason", "over")
    assert stepward(*words, "--yes", str(count + 1)).exit_code == 2
    assert as_json(stepward, "batch") == []
    assert stepward(*words, "--yes", str(count)).exit_code == 0
    assert stepward("supervisor", SHOP, "--once").exit_code == 0
    (found,) = as_json(stepward, "batch")
    assert (found["state"], found["done"] + found["refused"], found["matched"]) == ("done", count, count)
    assert (found["verb"], found["filter"], found["reason"]) == ("cancel", ERRORS, "over")
    shown = stepward("batch", "show", found["id"], "--watch").stdout
    assert f"batch {found['id']}: done" in shown
    assert "because over" in shown
    assert ERRORS in stepward("batch").stdout


def test_a_batch_is_paused_paced_resumed_and_stopped(store: Path, stepward: Stepward) -> None:
    started = stepward("batch", "start", "suspend", "--where", "created <= now", "--rate", "0.5")
    id = started.stdout.splitlines()[-1].split()[1].rstrip(":")
    assert ": paused" in stepward("batch", "pause", id).stdout
    assert "at most 3 a second" in stepward("batch", "pace", id, "3").stdout
    assert ": running" in stepward("batch", "resume", id).stdout
    assert ": stopped" in stepward("batch", "stop", id).stdout
    again = stepward("batch", "stop", id)
    assert again.exit_code == 1
    assert "expected it paused or running, found it stopped" in one_line(again)


def test_bad_input_is_reported_in_one_line(store: Path, stepward: Stepward) -> None:
    unknown = stepward("batch", "show", "none")
    assert unknown.exit_code == 2
    assert one_line(unknown).startswith("stepward: batch 'none': expected one that was started")
    wrong = stepward("batch", "preview", "undo", "--where", "state = 'eror'")
    assert "did you mean 'error'" in one_line(wrong)
    unfit = stepward("batch", "preview", "undo", "--where", ERRORS, "--step", "pay/1")
    assert "step: expected nothing that undo has no use for" in one_line(unfit)
