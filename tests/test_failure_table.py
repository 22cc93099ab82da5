"""docs/failures.md names tests: each of them exists."""

from __future__ import annotations

import ast
import re
from pathlib import Path

TESTS = Path(__file__).parent
PAGE = TESTS.parent / "docs" / "failures.md"


def defined() -> set[str]:
    """The names of all test functions."""
    trees = (ast.parse(path.read_text()) for path in TESTS.rglob("test_*.py"))
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    return {node.name for tree in trees for node in ast.walk(tree) if isinstance(node, functions)}


def test_every_test_that_the_table_names_exists() -> None:
    named = set(re.findall(r"`(test_\w+)`", PAGE.read_text()))
    assert len(named) > 40
    assert named <= defined(), f"no such tests: {', '.join(sorted(named - defined()))}"


def test_every_row_says_how_it_is_shown() -> None:
    lines = [line for line in PAGE.read_text().splitlines() if re.match(r"\| S?\d", line)]
    rows = [line.strip("| ").split(" | ") for line in lines]
    assert all(len(row) == 3 and ("`test_" in row[2] or "simulation" in row[2]) for row in rows)
    assert {"S22", "S28", "31", "71"} <= {row[0] for row in rows}
