"""Finds what could run data as code in Python sources: calls that evaluate, serialisers that revive objects."""

from __future__ import annotations

import ast
from collections.abc import Iterator

EVALUATES = frozenset({"eval", "exec", "compile", "__import__"})
"""Built-in functions that run or import what a text names."""
IMPORTS_BY_NAME = frozenset({"import_module", "run_path", "run_module", "resolve_name", "locate", "import_from_string"})
FORMATS = frozenset({"format", "format_map", "from_string"})
"""Methods that read fields out of objects where the text is not the program's own."""
REVIVES = frozenset(
    {
        "pickle",
        "_pickle",
        "cPickle",
        "marshal",
        "shelve",
        "dill",
        "cloudpickle",
        "jsonpickle",
        "yaml",
        "ruamel",
        "joblib",
    }
)
"""Modules whose readers make objects of what the data name."""


def findings(source: str) -> Iterator[str]:
    """Lists what a source does with texts or bytes that may run them, one line each: ``eval at 3``."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (f"{name} at {node.lineno}" for name in _revivers(alias.name for alias in node.names))
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{name} at {node.lineno}" for name in _revivers([node.module or ""]))
        elif isinstance(node, ast.Call) and (found := _called(node)):
            yield f"{found} at {node.lineno}"


def _revivers(names: Iterator[str] | list[str]) -> list[str]:
    return [name for name in names if name.partition(".")[0] in REVIVES]


def _called(call: ast.Call) -> str | None:
    function = call.func
    if isinstance(function, ast.Name):
        return function.id if function.id in EVALUATES | IMPORTS_BY_NAME else None
    if not isinstance(function, ast.Attribute):
        return None
    if function.attr in IMPORTS_BY_NAME:
        return function.attr
    return function.attr if function.attr in FORMATS and not _is_own_text(function.value) else None


def _is_own_text(receiver: ast.expr) -> bool:
    """Whether a text that is formatted stands in the program: a literal, a constant, one of markup; or is no text."""
    if isinstance(receiver, ast.Call) and isinstance(receiver.func, ast.Name):
        is_literal = bool(receiver.args) and isinstance(receiver.args[0], ast.Constant)
        return receiver.func.id == "super" or (receiver.func.id == "Markup" and is_literal)
    is_constant = isinstance(receiver, ast.Name) and receiver.id.isupper()
    return is_constant or isinstance(receiver, ast.Constant)
