"""Digests of the workflows that a process serves, which show Schedulers with different code or policies.

The code's digest is of the workflow function's syntax tree: comments, layout, positions, docstring and decorators do
not count, and neither do functions that it calls. The policy's digest is of the arguments of ``@workflow``.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator
from hashlib import sha256
from typing import Any

from stepward.model.pipeline_plan import to_json
from stepward.model.records import Digest
from stepward.workflow.definition import Workflow
from stepward.workflow.registry import Registry

LENGTH = 16
"""Hexadecimal digits of a digest, enough to exclude chance collisions."""
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def digests_of(registry: Registry) -> dict[str, Digest]:
    """The digests of all its workflows, by ``workflow@version``."""
    return {f"{name}@{version}": _digest(workflow) for (name, version), workflow in registry.workflows.items()}


def _digest(workflow: Workflow[Any, Any]) -> Digest:
    policy = f"{workflow.supervision.to_json()!r} {workflow.complete_seconds}"
    return Digest(code=_code(workflow), policy=_hashed(policy))


def _code(workflow: Workflow[Any, Any]) -> str:
    if workflow.plan is not None:
        return _hashed(repr(to_json(workflow.plan)))
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(workflow.fn)))
    except (OSError, TypeError, SyntaxError, ValueError):
        return ""  # Code whose source cannot be read is never reported as different.
    function = next((node for node in ast.walk(tree) if isinstance(node, FUNCTIONS)), None)
    return "" if function is None else _hashed(" ".join(_words(_bare(function))))


def _bare(function: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.AST:
    """The function without its decorators and its docstring."""
    function.decorator_list = []
    if ast.get_docstring(function, clean=False) is not None:
        function.body = function.body[1:]
    return function


def _words(node: object) -> Iterator[str]:
    """A syntax tree as text, the same in every version of Python that knows its nodes."""
    if isinstance(node, ast.AST):
        yield type(node).__name__
        for name, value in ast.iter_fields(node):
            if value is not None and value != [] and not isinstance(value, ast.expr_context):
                yield f"{name}="
                yield from _words(value)
    elif isinstance(node, list):
        for part in node:
            yield from _words(part)
        yield ";"
    else:
        yield repr(node)


def _hashed(text: str) -> str:
    return sha256(text.encode(errors="surrogatepass")).hexdigest()[:LENGTH]
