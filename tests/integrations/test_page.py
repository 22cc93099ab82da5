"""docs/frameworks.md shows the examples as they are."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_each_block_is_a_part_of_an_example() -> None:
    examples = [_lines(path.read_text()) for path in (ROOT / "examples/frameworks").rglob("*.py")]
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs/frameworks.md").read_text(), re.DOTALL)
    strangers = [block for block in blocks if not any(_lines(block) in example for example in examples)]
    assert len(blocks) == 8
    assert strangers == []


def _lines(code: str) -> str:
    """The lines without indents and blank ones: a page shows the inside of a function."""
    return "\n".join(line.strip() for line in code.splitlines() if line.strip())
