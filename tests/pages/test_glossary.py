"""docs/glossary.md: each row is whole, no term stands there twice, and the words of ARCHITECTURE.md are among them."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
ROWS = [row for row in (ROOT / "docs" / "glossary.md").read_text().splitlines() if row.startswith("| **")]
COLUMNS = 6
OTHER_NAMES = {"Event": "Status event"}
"""Words that the architecture shortens."""


def terms() -> list[str]:
    return [term for row in ROWS for term in re.findall(r"\*\*(.+?)\*\*", row.split("|")[1])]


def test_each_row_says_what_the_term_means_and_what_four_others_call_it() -> None:
    cells = {row: [cell.strip() for cell in row.strip("|").split(" | ")] for row in ROWS}
    assert [row for row, found in cells.items() if len(found) != COLUMNS or not all(found)] == []


def test_no_term_stands_there_twice() -> None:
    assert [term for term, count in Counter(map(str.lower, terms())).items() if count > 1] == []


def test_the_words_of_the_architecture_are_in_the_glossary() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    (table,) = re.findall(r"^## Words\n(.*?)^Task:", text, re.MULTILINE | re.DOTALL)
    words = [word for row in table.splitlines()[3:] if row for word in row.split("|")[1].strip().split(", ")]
    known = set(map(str.lower, terms()))
    assert len(words) > 15
    assert [word for word in words if OTHER_NAMES.get(word, word).lower() not in known] == []
