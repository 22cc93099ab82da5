"""A bound on words that personify or hint, in docstrings, comments and names of tests: the counts only shrink."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FOLDERS = ("src/stepward", "tests", "torture", "servers", "showcase", "examples", "simulation")
WORDS = re.compile(
    r"\b(nobody|somebody|anybody|everybody|whoever|told|heard|word of|a word from|what was said|by halves)\b"
    r"|^\W*See [`A-Z]\S*\.?$",
    re.IGNORECASE,
)
"""Persons in place of processes, ``told`` and ``heard`` in place of the field's verbs (sent, received, reported,
raised), and ``See X.`` in place of a docstring: that of a Protocol is inherited."""
MOST: dict[str, int] = {
    "examples": 2,
    "examples/orders": 2,
    "examples/shop": 41,
    "showcase": 2,
    "simulation": 97,
    "src/stepward": 2,
    "src/stepward/agent": 3,
    "src/stepward/cli": 2,
    "src/stepward/client": 6,
    "src/stepward/http": 38,
    "src/stepward/model": 2,
    "src/stepward/scheduler": 5,
    "src/stepward/store": 126,
    "src/stepward/transport": 3,
    "src/stepward/views": 8,
    "tests": 5,
    "tests/agent": 4,
    "tests/appqueues": 12,
    "tests/benchmarks": 3,
    "tests/cli": 14,
    "tests/client": 2,
    "tests/crash": 17,
    "tests/deploy": 3,
    "tests/examples": 12,
    "tests/faults": 13,
    "tests/host": 8,
    "tests/http": 12,
    "tests/longsteps": 6,
    "tests/many": 5,
    "tests/observers": 1,
    "tests/relay": 3,
    "tests/scheduler": 54,
    "tests/servers": 3,
    "tests/showcase": 1,
    "tests/simulation": 9,
    "tests/store": 144,
    "tests/submission": 4,
    "tests/supervisor": 3,
    "tests/torture": 4,
    "tests/transactions": 18,
    "tests/transport": 36,
    "tests/workflow": 8,
}
"""By folder, how many there are; a folder that is not listed has none. Lower a number when some go."""


def _texts(source: str) -> Iterator[str]:
    """Docstrings, comments and the names of tests, as words."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.value.value
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            yield node.name.replace("_", " ")
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.string


def count(sources: Iterable[str]) -> int:
    return sum(len(WORDS.findall(text)) for source in sources for text in _texts(source))


def _area(path: Path) -> str:
    """The folder below one of ``FOLDERS``, for those that have folders for subjects."""
    parts = path.relative_to(ROOT).parts
    depth = {"src": 3, "tests": 2, "examples": 2}.get(parts[0], 1)
    return "/".join(parts[: min(depth, len(parts) - 1)])


def counts() -> dict[str, int]:
    found: Counter[str] = Counter()
    for folder in FOLDERS:
        for path in (ROOT / folder).rglob("*.py"):
            if path != Path(__file__):
                found[_area(path)] += count([path.read_text("utf-8")])
    return {area: number for area, number in sorted(found.items()) if number}


def test_no_folder_has_more_of_these_words_than_it_had() -> None:
    more = {area: number for area, number in counts().items() if number > MOST.get(area, 0)}
    assert more == {}, "say it in the field's words: who sends, receives, reports or raises what"


@pytest.mark.parametrize(
    ("source", "number"),
    [
        ('"""Whoever asks is told."""', 2),
        ("def test_nobody_is_told() -> None: ...", 2),
        ("x = 1  # somebody else has it", 1),
        ('def f():\n    """See Process."""', 1),
        ('"""See `names.md` for the rule."""', 0),
        ("nobody = 'told'", 0),
        ('"""Sends the reply, and raises TransportError."""', 0),
    ],
)
def test_such_words_are_counted_in_prose_only(source: str, number: int) -> None:
    assert count([source]) == number
