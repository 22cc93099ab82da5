"""``python -m benchmarks.comparison.pages``: write the tables of the last whole run into the pages that show them.

A table stands between ``<!-- bench: NAME -->`` and ``<!-- bench: end -->``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from benchmarks.comparison import tables
from benchmarks.comparison.results import Results, read

PAGES = (Path("README.md"), Path("docs/performance.md"))
BLOCK = re.compile(r"(<!-- bench: (?!end)([\w-]+) -->\n).*?(<!-- bench: end -->)", re.DOTALL)
BLOCKS: Mapping[str, Callable[[Results], str]] = {
    "comparison": tables.comparison_table,
    "conditions": tables.conditions,
    "products": tables.products_table,
    "short": tables.short_table,
    "sweeps": tables.sweeps_table,
}


def renewed(text: str, results: Results) -> str:
    """The page with the tables of those results; raises KeyError for a name without a table."""
    return BLOCK.sub(lambda block: f"{block[1]}\n{BLOCKS[block[2]](results)}\n\n{block[3]}", text)


def main() -> None:
    """Rewrite the pages."""
    results = read()
    for page in PAGES:
        page.write_text(renewed(page.read_text("utf-8"), results), "utf-8")


if __name__ == "__main__":
    main()
