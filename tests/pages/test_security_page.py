"""docs/security.md names tests: each of them exists, and each row has one."""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).parents[1]
PAGE = TESTS.parent / "docs" / "security.md"
REQUIREMENTS = {str(number) for number in range(1, 28)}


def rows() -> dict[str, list[str]]:
    found = re.findall(r"^\| (\d+) \|.*\| (.*) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    return {number: re.findall(r"`(test_\w+)`", tests) for number, tests in found}


def test_every_test_that_the_page_names_exists() -> None:
    defined = {
        name
        for path in TESTS.rglob("test_*.py")
        for name in re.findall(r"def (test_\w+)\(", path.read_text(encoding="utf-8"))
    }
    named = {name for tests in rows().values() for name in tests}
    assert named - defined == set()


def test_every_requirement_has_a_test() -> None:
    assert {number for number, tests in rows().items() if tests} == REQUIREMENTS
