"""docs/errors.md: every error has a row that says when it is raised and what to do."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

from stepward import errors

PAGE = (Path(__file__).parents[2] / "docs" / "errors.md").read_text(encoding="utf-8")
ROWS = [[cell.strip() for cell in row.strip("|").split(" | ")] for row in PAGE.splitlines() if row.startswith("| `")]
PYTHONS = {"TimeoutError", "ImportError"}


def _named() -> list[str]:
    return [name for row in ROWS for name in re.findall(r"`(\w+)`", row[0])]


def test_each_error_has_one_row() -> None:
    classes = {
        name for name, value in inspect.getmembers(errors, inspect.isclass) if value.__module__ == errors.__name__
    }
    assert sorted(_named()) == sorted(classes - {"StepwardError"} | PYTHONS)


def test_each_row_says_when_and_what_to_do() -> None:
    assert [row[0] for row in ROWS if len(row) != 3 or not all(row)] == []
