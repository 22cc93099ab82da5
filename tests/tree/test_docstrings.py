"""What docstrings must say, found by reading the source: what a name does, and no pointer to another name."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "stepward"
POINTER = re.compile(r"(See ``[^`]+``\.?|Add one\.?)$")
"""A docstring that sends the reader elsewhere, or repeats the name: a method inherits its Protocol's instead."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


def _is_protocol(node: ast.ClassDef) -> bool:
    return any("Protocol" in ast.unparse(base) for base in node.bases)


def _faults(name: str, text: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, Function | ast.ClassDef):
            docstring = ast.get_docstring(node)
            if docstring is not None and POINTER.match(docstring):
                yield f"{name}:{node.lineno} {node.name}: expected what it does, found {docstring!r}"
        if isinstance(node, ast.ClassDef) and _is_protocol(node):
            for method in node.body:
                if not isinstance(method, Function) or method.name.startswith("_"):
                    continue
                if ast.get_docstring(method) is None:
                    yield f"{name}:{method.lineno} {node.name}.{method.name}: expected a docstring to inherit"


def test_docstrings_say_what_a_thing_does() -> None:
    paths = sorted(SOURCE.rglob("*.py"))
    found = [fault for path in paths for fault in _faults(str(path.relative_to(SOURCE)), path.read_text("utf-8"))]
    assert found == []


@pytest.mark.parametrize(
    "text",
    [
        'def f() -> None:\n    """See ``g``."""\n',
        'class A:\n    """Add one."""\n',
        "class A(Protocol):\n    def f(self) -> None: ...\n",
    ],
)
def test_a_docstring_that_says_nothing_is_found(text: str) -> None:
    assert len(list(_faults("planted.py", text))) == 1
