"""docs/operations.md lists each kind of alert that this version raises."""

from __future__ import annotations

import re
from pathlib import Path

from stepward.model.alerts.alert_routing import SEVERITIES, TEST_KIND

PAGE = Path(__file__).parents[2] / "docs" / "operations.md"
HEADS = (("| kind | sign, and what helps |", "\n\nAll but"), ("### Kinds of alerts", "\n## "))
"""The line before each table, and what follows it."""
ROW = re.compile(r"^\| (`\w+`(?:, `\w+`)*) \|", re.MULTILINE)


def test_the_page_lists_each_kind_that_is_raised_and_no_other() -> None:
    page = PAGE.read_text()
    tables = [page.partition(f"\n{head}\n")[2].partition(end)[0] for head, end in HEADS]
    listed = [kind for table in tables for row in ROW.findall(table) for kind in re.findall(r"\w+", row)]
    assert sorted(listed) == sorted(set(SEVERITIES) - {TEST_KIND})
