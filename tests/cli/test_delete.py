"""``stepward delete``: by ids or by a filter, after the number is given."""

from __future__ import annotations

from pathlib import Path

from .conftest import SHOP, Stepward, one_line
from .stores import as_json


def test_tasks_are_deleted_by_their_ids(store: Path, stepward: Stepward) -> None:
    asked = stepward("delete", "good", "undone", "--yes", "2", "--rate", "1000", "--reason", "asked to")
    assert asked.exit_code == 0, asked.stderr
    assert stepward("supervisor", SHOP, "--once").exit_code == 0
    assert {"good", "undone"}.isdisjoint(task["id"] for task in as_json(stepward, "tasks"))
    assert stepward("audit", "verify").exit_code == 0
    assert [act["act"] for act in as_json(stepward, "audit") if act["act"] == "delete"] == ["delete", "delete"]


def test_the_number_has_to_be_right(store: Path, stepward: Stepward) -> None:
    wrong = stepward("delete", "--where", "state = 'processed'", "--yes", "999")
    assert wrong.exit_code == 2
    assert "expected the number of tasks" in wrong.stderr
    assert as_json(stepward, "batch") == []


def test_ids_or_a_filter_are_needed(store: Path, stepward: Stepward) -> None:
    assert "expected ids of tasks or --where" in one_line(stepward("delete"))
    assert "expected ids of tasks or --where" in one_line(stepward("delete", "good", "--where", "state = 'error'"))
