"""The Python of the two stores: how much of SQLite's code stands in PostgreSQL's too."""

from __future__ import annotations

import ast
import keyword
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import stepward

STORE = Path(stepward.__file__).parent / "store"

MOST_SHARED = 0.15
"""Highest share of SQLite's lines that PostgreSQL's code repeats; to be lowered when verbs move to one place.

For the tree of 22 November 2026 the same count gives 42.6%.
"""
NO_NAMES = frozenset({*keyword.kwlist, "self"})


def lines_of(text: str) -> list[str]:
    """Lines of a module that name something: without indentation, ``async`` and ``await``.

    Left out are blank lines, comments, imports, and lines that hold only keywords and punctuation, such as ``try:``.
    """
    imports: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            imports |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    found = (_folded(line) for number, line in enumerate(text.splitlines(), 1) if number not in imports)
    return [line for line in found if not line.startswith("#") and set(re.findall(r"[A-Za-z_]\w*", line)) - NO_NAMES]


def _folded(line: str) -> str:
    return " ".join(line.split()).replace("async ", "").replace("await ", "")


def share(one: Iterable[str], other: Iterable[str]) -> float:
    """The share of ``one``'s lines that ``other`` holds too, wherever they stand; a line counts as often as in both."""
    lines = Counter(one)
    return (lines & Counter(other)).total() / lines.total()


def _lines(engine: str) -> list[str]:
    return [line for file in (STORE / engine).rglob("*.py") for line in lines_of(file.read_text(encoding="utf-8"))]


def test_the_share_of_lines_that_both_stores_repeat_does_not_grow() -> None:
    found = share(_lines("sqlite"), _lines("postgres"))
    assert found <= MOST_SHARED, (
        f"expected at most {MOST_SHARED:.0%} of SQLite's lines in PostgreSQL's code too, found {found:.1%}; "
        "write what both do once, outside the two folders"
    )


def test_lines_without_names_are_left_out_and_order_does_not_matter() -> None:
    one = "from a import (\n    b,\n)\n# c\ntry:\n    d = 1\nfinally:\n    e = 2\n    f = 3\n"
    other = "async def g(self):\n    e = 2\n    await d\n    d = 1\n"
    assert lines_of(one) == ["d = 1", "e = 2", "f = 3"]
    assert lines_of(other) == ["def g(self):", "e = 2", "d", "d = 1"]
    assert share(lines_of(one), lines_of(other)) == 2 / 3
