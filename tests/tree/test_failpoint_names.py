"""docs/operations.md lists every failpoint that the code passes, and no other; each name is made of words."""

from __future__ import annotations

import re
from pathlib import Path

from stepward.scheduler.failpoints import WRITES

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "stepward"
PASSED = re.compile(r"failpoint\(\"([^\"]+)\.(?:before|after)\"\)")
WORDS = re.compile(r"[a-z_]+\.[a-z_]+")


def _in_code() -> set[str]:
    named = {name for path in SOURCE.rglob("*.py") for name in PASSED.findall(path.read_text("utf-8"))}
    return named | WRITES.keys()


def _on_the_page() -> set[str]:
    section = (ROOT / "docs" / "operations.md").read_text("utf-8").partition("## Ending a process in a test")[2]
    rows = [line.split("|")[1] for line in section.partition("\n## ")[0].splitlines() if line.startswith("| `")]
    return {name for row in rows for name in re.findall(r"`([^`]+)`", row)}


def test_the_page_lists_the_failpoints_of_the_code() -> None:
    assert _on_the_page() == _in_code()


def test_a_failpoint_is_named_by_words() -> None:
    assert [name for name in _in_code() if not WORDS.fullmatch(name)] == []
