"""The Python of the two stores: how much of it stands in both."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import stepward

STORE = Path(stepward.__file__).parent / "store"

MOST_SHARED = 0.33
"""Highest share of SQLite's lines that PostgreSQL's code repeats; to be lowered when verbs move to one place."""


def _lines(engine: str) -> Counter[str]:
    """Lines of an engine's code without blanks, comments, indentation, and the words ``async`` and ``await``."""
    lines: Counter[str] = Counter()
    for file in (STORE / engine).rglob("*.py"):
        for line in file.read_text(encoding="utf-8").splitlines():
            text = " ".join(line.split()).replace("async ", "").replace("await ", "")
            if text and not text.startswith("#"):
                lines[text] += 1
    return lines


def test_the_share_of_lines_that_both_stores_repeat_does_not_grow() -> None:
    sqlite, postgres = _lines("sqlite"), _lines("postgres")
    share = (sqlite & postgres).total() / sqlite.total()
    assert share <= MOST_SHARED, (
        f"expected at most {MOST_SHARED:.0%} of SQLite's lines in PostgreSQL's code too, found {share:.1%}; "
        "write what both do once, outside the two folders"
    )
