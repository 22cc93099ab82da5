"""Bounds on files, functions and names, found by reading the source; what was beyond them before may only shrink."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "src" / "stepward"
FILE_LINES = 300
FUNCTION_LINES = 50
LONGER_FILES = {
    "app.py": 310,
    "client/client.py": 441,
    "client/handle.py": 368,
    "host/host.py": 352,
    "scheduler/scheduler.py": 425,
    "scheduler/tasks/active_tasks.py": 462,
    "scheduler/tasks/advance.py": 407,
    "store/contract/turn.py": 328,
    "store/rules/repairs.py": 345,
    "store/rules/verdicts.py": 563,
    "sync.py": 385,
    "transport/queues/over_broker.py": 325,
    "transport/queues/queues.py": 322,
    "transport/wire/wire.py": 399,
    "workflow/event_loop/loop.py": 332,
    "workflow/run.py": 393,
}
LONGER_FUNCTIONS = {
    "agent/calls.py __init__": 56,
    "scheduler/scheduler.py __init__": 92,
    "scheduler/tasks/active_task.py __init__": 54,
}
NAMED_TWICE = frozenset({"Missed", "StatusEvent", "Submission"})
ENGINES = re.compile(r"\b(sqlite|postgres|nats|rabbitmq)\b")
"""Files that differ in this word alone are twins, and name the same thing alike."""

Sources = Mapping[str, str]


def long_files(sources: Sources) -> dict[str, int]:
    lines = {name: text.count("\n") for name, text in sources.items()}
    return {name: count for name, count in lines.items() if count > FILE_LINES}


def long_functions(sources: Sources) -> dict[str, int]:
    found = {}
    for name, text in sources.items():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (node.end_lineno or 0) - node.lineno + 1
                if lines > FUNCTION_LINES:
                    found[f"{name} {node.name}"] = lines
    return found


def _defined(text: str) -> Iterable[str]:
    """Classes and type aliases of a module, and none of its type variables."""
    for node in ast.parse(text).body:
        if isinstance(node, ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            alias = node.targets[0].id
            is_variable = isinstance(node.value, ast.Call)
            if alias[0].isupper() and not alias.isupper() and not is_variable:
                yield alias


def named_twice(sources: Sources) -> set[str]:
    places = defaultdict(set)
    for name, text in sources.items():
        for defined in _defined(text):
            places[defined].add(ENGINES.sub("ENGINE", name))
    return {defined for defined, files in places.items() if len(files) > 1}


def _ours() -> Sources:
    return {path.relative_to(SOURCE).as_posix(): path.read_text("utf-8") for path in sorted(SOURCE.rglob("*.py"))}


def _grown(found: Mapping[str, int], known: Mapping[str, int]) -> dict[str, int]:
    return {name: lines for name, lines in found.items() if lines > known.get(name, 0)}


def test_no_file_grows_beyond_its_bound() -> None:
    assert _grown(long_files(_ours()), LONGER_FILES) == {}


def test_no_function_grows_beyond_its_bound() -> None:
    assert _grown(long_functions(_ours()), LONGER_FUNCTIONS) == {}


def test_no_further_name_is_given_to_two_things() -> None:
    assert named_twice(_ours()) <= NAMED_TWICE


def test_the_lists_of_exceptions_name_nothing_that_is_within_the_bounds() -> None:
    sources = _ours()
    assert LONGER_FILES.keys() == long_files(sources).keys()
    assert LONGER_FUNCTIONS.keys() == long_functions(sources).keys()
    assert named_twice(sources) == NAMED_TWICE


def test_what_is_beyond_the_bounds_is_found() -> None:
    long = {"a.py": "def f():\n" + "    x = 1\n" * FILE_LINES}
    assert (long_files(long), long_functions(long)) == ({"a.py": 301}, {"a.py f": 301})
    assert _grown({"a.py": 301}, {"a.py": 300}) == {"a.py": 301}
    both = "class A: ...\nPair = tuple[int, int]\n"
    assert named_twice({"x/a.py": both, "y/a.py": both}) == {"A", "Pair"}
    assert named_twice({"sqlite/a.py": both, "postgres/a.py": both}) == set()
