"""Every event names a task by the same field: ``task`` is the operators' id, ``task_uid`` the internal one."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

SOURCES = Path(__file__).parents[2] / "src" / "stepward"
OTHER_NAMES = frozenset({"task_id", "uid", "key"})
"""Fields under which an event named a task or a step before."""


def _fields() -> Iterator[tuple[str, str, str]]:
    """The place, the name and the value of each field of an event that the product emits."""
    for path in SOURCES.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("observers.emit"):
                for field in node.keywords:
                    yield f"{path.name}:{node.lineno}", field.arg or "", ast.unparse(field.value)


def test_a_task_has_its_id_in_one_field() -> None:
    fields = list(_fields())
    tasks = [(place, value) for place, name, value in fields if name == "task"]
    assert len(tasks) > 8
    assert [each for each in tasks if not (each[1].endswith(("task_id", "task.id")) or each[1] == "id")] == []
    assert [(place, name) for place, name, _ in fields if name in OTHER_NAMES] == []


def test_the_internal_id_has_another_field() -> None:
    uids = [(place, value) for place, name, value in _fields() if name == "task_uid"]
    assert len(uids) > 2
    assert [each for each in uids if not (each[1].endswith((".task", ".uid")) or each[1] == "uid")] == []
