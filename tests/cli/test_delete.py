"""``stepward delete``: by ids or by a filter, after the number is given."""

from __future__ import annotations

import asyncio
from pathlib import Path

from stepward.cli.input.operator_store import operator_client, settings_for
from stepward.client import session_of
from stepward.model.records import Audit
from tests.store.places import execute

from .conftest import SHOP, Stepward, one_line
from .stores import as_json


async def noted(id: str) -> None:
    """An act on the task whose details quote a payload."""
    async with operator_client(settings_for(None)) as client:
        task = await session_of(client).record(id)
        act = Audit(actor="ada", act="noted", task=task.uid, details=b'{"input":["secret"]}')
        await session_of(client).store.operators.record_acts([act])


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


def test_an_act_that_was_erased_by_hand_is_found(store: Path, stepward: Stepward) -> None:
    execute(store, "update stepward_audit set details = cast('{\"erased\":true}' as blob) where number = 1")
    verified = stepward("audit", "verify")
    assert verified.exit_code == 1
    assert "number 1 was changed" in one_line(verified)


def test_erased_acts_are_verified_in_the_archive_too(store: Path, stepward: Stepward) -> None:
    folder = store.parent / "old"
    folder.mkdir()
    asyncio.run(noted("undone"))
    asked = stepward("delete", "undone", "--yes", "1", "--rate", "1000")
    assert asked.exit_code == 0, asked.stderr
    assert stepward("supervisor", SHOP, "--once").exit_code == 0
    (number,) = execute(store, "select count(*) from stepward_audit where details = cast('{\"erased\":true}' as blob)")[
        0
    ]
    assert number > 0
    assert stepward("purge", "--older-than", "0s", STEPWARD_ARCHIVE="old").exit_code == 0
    verified = stepward("audit", "verify", "--archive", "old")
    assert verified.exit_code == 0, verified.stderr
