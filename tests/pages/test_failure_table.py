"""docs/failures.md names tests: each of them exists, and each row has one that continuous integration runs."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

TESTS = Path(__file__).parents[1]
PAGE = TESTS.parent / "docs" / "failures.md"
NIGHTLY = "pytest.mark.faults"


@cache
def defined() -> frozenset[tuple[str, bool]]:
    """The name of each test function, and whether ``make faults`` alone runs it."""
    found = set()
    for path in TESTS.rglob("test_*.py"):
        tree = ast.parse(path.read_text())
        is_nightly = any(
            NIGHTLY in ast.unparse(node.value)
            for node in tree.body
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark"
        )
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                found.add((node.name, is_nightly or NIGHTLY in map(ast.unparse, node.decorator_list)))
    return frozenset(found)


def named(text: str) -> set[str]:
    return set(re.findall(r"`(test_\w+)`", text))


def rows() -> list[list[str]]:
    lines = [line for line in PAGE.read_text().splitlines() if re.match(r"\| S?\d", line)]
    return [line.strip("| ").split(" | ") for line in lines]


def test_every_test_that_the_table_names_exists() -> None:
    found, wanted = {name for name, _ in defined()}, named(PAGE.read_text())
    assert len(wanted) > 40
    assert wanted <= found, f"no such tests: {', '.join(sorted(wanted - found))}"


def test_every_row_names_a_test_that_each_change_runs_or_says_that_it_is_nightly() -> None:
    run = {name for name, is_nightly in defined() if not is_nightly}
    assert {"S22", "S28", "31", "71"} <= {row[0] for row in rows()}
    for row, failure, shown in rows():
        tests = named(shown)
        assert tests, f"row {row}, {failure}: expected a test, found {shown}"
        assert ("nightly" in shown) is not bool(tests & run), (
            f"row {row}, {failure}: expected nightly, or a test of each change"
        )
