"""What the command and its table say."""

from __future__ import annotations

import subprocess
import sys

import pytest

from benchmarks.catalogue import STORES
from benchmarks.report import Target, show

TARGETS = {("speed", "steps"): Target(10, at_most=False), ("speed", "seconds"): Target(2, at_most=True)}


@pytest.mark.parametrize(("steps", "seconds", "reached"), [(10, 2, True), (11, 1, True), (9, 1, False), (11, 3, False)])
def test_a_missed_target_fails_the_run(steps: float, seconds: float, reached: bool) -> None:
    assert show("title", {"speed": {"steps": steps, "seconds": seconds, "other": 5}}, TARGETS) is reached


def test_the_table_names_each_figure_beside_its_target(capsys: pytest.CaptureFixture[str]) -> None:
    show("Stepward on something", {"speed": {"steps": 1234.5, "seconds": 0.5}}, TARGETS)
    said = capsys.readouterr().out
    assert all(part in said for part in ("Stepward on something", "1,234", "≥ 10", "0.5", "≤ 2"))


@pytest.mark.parametrize("store", STORES)
def test_every_target_is_of_a_measure_that_is_there(store: str) -> None:
    assert {measure for measure, _ in STORES[store].targets} <= STORES[store].measures.keys()


def test_each_store_has_a_file_of_its_own() -> None:
    assert len({catalogue.results for catalogue in STORES.values()}) == len(STORES)


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--store", "mysql"], "benchmarks: store: expected sqlite or postgresql, found 'mysql'\n"),
        (
            ["--store", "sqlite", "speed"],
            f"benchmarks: measures: expected some of {'; '.join(STORES['sqlite'].measures)}, found speed\n",
        ),
    ],
)
def test_what_cannot_be_measured_is_refused_in_one_line(arguments: list[str], line: str) -> None:
    ran = subprocess.run([sys.executable, "-m", "benchmarks", *arguments], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr, ran.stdout) == (2, line, "")
