"""What `show` says to do next: every command that it prints is carried out."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from stepward.model.tasks.stopped_tasks import WAITS_FOR
from tests.cli.conftest import Stepward
from tests.cli.mending import WORKFLOWS

WIDE = "300"
FILLED = {"JSON": "12"}
EXPECTED = {
    "refused": ["resubmit", "resubmit --input", "mark-done", "undo"],
    "caught": [
        "resubmit --later undo",
        "resubmit --later keep",
        "resubmit --input --later undo",
        "resubmit --input --later keep",
        "mark-done --later undo",
        "mark-done --later keep",
        "undo",
    ],
    "raised_anew": [
        "resubmit --step --later undo",
        "resubmit --step --later keep",
        "mark-done --later undo",
        "mark-done --later keep",
        "resubmit",
        "undo",
    ],
    "in_doubt": [
        "resubmit",
        "resubmit --input --undo-first",
        "resubmit --input --did-not-happen",
        "mark-done",
        "undo",
    ],
    "in_doubt_for_good": ["resubmit", "resubmit --input --did-not-happen", "mark-done", "undo"],
    "bug": ["resubmit", "undo"],
    "stuck": ["resubmit", "mark-done"],
    "sealed": ["resubmit", "resubmit --input", "mark-done"],
    "late": ["resubmit --complete-by", "undo"],
    "unreadable": ["mark-done", "resubmit --step", "undo"],
    "parent": ["resubmit", "mark-done", "undo"],
    "parent_of_undone": ["resubmit", "mark-done", "undo"],
    "waiting": ["signal"],
    "suspended": ["resume", "cancel"],
    "stopped": ["resubmit", "undo", "cancel"],
}


@pytest.mark.parametrize("id", [workflow.name for workflow in WORKFLOWS])
def test_every_command_that_is_suggested_is_carried_out(
    troubled: Path, every_trouble: Path, stepward: Stepward, id: str
) -> None:
    suggested = _suggested(stepward("show", id, COLUMNS=WIDE).stdout)
    assert [_kind(words) for words in suggested] == EXPECTED[id]
    for words in suggested:
        shutil.copy(every_trouble, troubled)
        result = stepward(*[FILLED.get(word, word) for word in words])
        assert result.exit_code == 0, (words, result.stderr)
        assert result.stdout.startswith(f"{id}: ")


def test_arguments_to_be_edited_are_those_of_the_step(troubled: Path, stepward: Stepward) -> None:
    [edited] = [words for words in _suggested(stepward("show", "refused", COLUMNS=WIDE).stdout) if "--input" in words]
    step = json.loads(stepward("show", "refused", "--json").stdout)["steps"][-1]
    assert json.loads(edited[-1]) == step["input"]


def test_explanations_are_complete_on_a_narrow_screen(troubled: Path, stepward: Stepward) -> None:
    shown = stepward("show", "caught", COLUMNS="60").stdout.partition("What to do next\n")[2]
    assert "…" not in shown.partition("\n\n")[0]
    assert (
        "  # repeat it with these arguments, edited; first undo the\n"
        "  # steps after it\n"
        "  stepward resubmit caught --input '[\"o\"]' --later undo\n"
    ) in shown


def test_a_divergence_is_shown_with_both_sides_and_the_line(troubled: Path, stepward: Stepward) -> None:
    shown = stepward("show", "stopped", COLUMNS=WIDE).stdout
    assert "waiting" in shown
    assert WAITS_FOR in shown
    assert "NonDeterministic: " in shown
    assert "the record has side_effect as command 1, the code asks for a wait for signal agreed (mending.py:" in shown
    assert "non_deterministic" in shown


def test_a_dry_run_prints_the_steps_to_set_aside_and_changes_nothing(troubled: Path, stepward: Stepward) -> None:
    before = stepward("steps", "caught", "--json").stdout
    shown = stepward("resubmit", "caught", "--later", "keep", "--dry-run")
    assert (shown.exit_code, shown.stdout) == (
        0,
        "caught: payments.decline/1\n"
        "  would be set aside: payments.charge/1\n"
        "  of that, may have acted (--later undo|keep): payments.charge/1\n"
        "  of that, --later undo undoes first: payments.charge/1\n",
    )
    by_hand = stepward("mark-done", "caught", "payments.decline/1", "null", "--later", "keep", "--dry-run")
    assert by_hand.stdout == shown.stdout
    assert stepward("steps", "caught", "--json").stdout == before


@pytest.mark.parametrize(
    "args",
    [
        ["resubmit", "caught"],
        ["resubmit", "in_doubt", "--input", '["o"]'],
        ["resubmit", "in_doubt", "--input", '["o", 2]', "--undo-first"],
        ["resubmit", "late"],
        ["mark-done", "caught", "payments.decline/1", "null"],
    ],
)
def test_a_dry_run_prints_the_refusal(troubled: Path, stepward: Stepward, args: list[str]) -> None:
    [told] = stepward(*args, "--dry-run").stdout.splitlines()[-1:]
    assert told == stepward(*args).stderr.rstrip("\n").replace("stepward: ", "  would be refused: ", 1)


def test_a_resubmission_that_needs_an_option_is_refused_with_the_choices(troubled: Path, stepward: Stepward) -> None:
    refused = stepward("resubmit", "caught")
    assert refused.exit_code != 0
    assert "say whether to undo that first (--later undo) or keep it (--later keep)" in refused.stderr
    assert stepward("resubmit", "caught", "--later", "keep").stdout == "caught: pending\n"
    assert "set aside" in stepward("steps", "caught", COLUMNS=WIDE).stdout


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["resubmit", "bug", "--later", "undo"], "a word on what was done later (--later undo), found none that its"),
        (
            ["resubmit", "bug", "--did-not-happen"],
            "a word on attempts in doubt (--did-not-happen), found none that its",
        ),
        (
            ["resubmit", "stopped", "--later", "keep"],
            "found a word on what was done later (--later keep); leave it out",
        ),
        (
            ["resubmit", "in_doubt", "--input", '["o"]'],
            "undo it first (--undo-first), or look whether it happened: say",
        ),
        (
            ["resubmit", "in_doubt", "--input", '["o"]'],
            "so with --did-not-happen, or give its result with `stepward mar",
        ),
        (
            ["resubmit", "in_doubt", "--input", '["o", 2]', "--undo-first"],
            "as many arguments as the step was asked for with, 1",
        ),
        (["resubmit", "late"], "found that past; give it a new one (--complete-by D)"),
        (
            ["mark-done", "bug", "payments.charge/9", "1"],
            "stepward: mark-done of task bug: expected a step payments.ch",
        ),
    ],
)
def test_a_refusal_is_one_line_in_the_words_of_the_command_line(
    troubled: Path, stepward: Stepward, args: list[str], says: str
) -> None:
    refused = stepward(*args)
    assert (refused.exit_code, len(refused.stderr.splitlines())) == (1, 1)
    assert says in refused.stderr


def test_the_traceback_of_a_step_is_shown_once(troubled: Path, stepward: Stepward) -> None:
    assert stepward("show", "refused", COLUMNS="200").stdout.count("Traceback (most recent call last):") == 1


def test_show_prints_where_the_workflows_own_code_failed(troubled: Path, stepward: Stepward) -> None:
    shown = stepward("show", "bug", COLUMNS="200").stdout
    assert re.search(r"^│ at +mending.py:\d+ in bug", shown, re.MULTILINE)
    assert shown.partition("\nTraceback\n")[2].splitlines()[0].rstrip() == "  Traceback (most recent call last):"
    assert "in bug" in shown.partition("\nTraceback\n")[2]


def test_a_needed_code_fix_is_shown_before_resubmission(troubled: Path, stepward: Stepward) -> None:
    assert re.search(
        r"once its code at mending\.py:\d+ in bug is fixed: continue from the record",
        stepward("show", "bug", COLUMNS=WIDE).stdout,
    )
    with closing(sqlite3.connect(troubled)) as connection, connection:
        hangs = json.dumps({"type": "Hangs", "message": "held up at mending.py:1"})
        connection.execute("update stepward_task set error = ? where id = 'bug'", (hangs.encode(),))
    assert "once its code is fixed: continue from the record" in stepward("show", "bug", COLUMNS=WIDE).stdout


def test_the_error_of_a_step_in_doubt_repeats_nothing(troubled: Path, stepward: Stepward) -> None:
    head = stepward("show", "in_doubt", COLUMNS=WIDE).stdout.partition("What to do next")[0]
    labels = re.findall(r"^│ (\w+(?: \w+)*)  ", head, re.MULTILINE)
    assert labels[-4:] == ["failures", "error", "in doubt", "step"]
    assert re.search(r"^│ in doubt +payments\.hang/1 +│$", head, re.MULTILINE)


def _suggested(shown: str) -> list[list[str]]:
    block = shown.partition("What to do next\n")[2].partition("\n\n")[0]
    lines = [re.split(r"\s{3,}", line.strip())[0] for line in block.splitlines()]
    return [shlex.split(line)[1:] for line in lines if line.startswith("stepward ")]


def _kind(words: list[str]) -> str:
    options = [word for word in words if word.startswith("--")]
    values = [word for word in words if word in ("undo", "keep")]
    kept = [f"{option} {values[-1]}" if option == "--later" else option for option in options]
    return " ".join([words[0], *kept])
