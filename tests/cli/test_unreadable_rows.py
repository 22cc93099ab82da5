"""Rows that no program of today writes: damaged, or by a program that wrote less carefully. All can be looked at."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from stepward import App, TaskFailed
from stepward.cli.input.targets import load_app
from stepward.model.states import TaskState
from tests.cli.conftest import SHOP, Stepward

DAMAGED = [b"", b"\xff\xfe{", b"{", b"[" * 5000, b"7", b'"text"', b"[1]", b"null", b'{"message":7}', b'"\xc3"']
TASK = ("input", "output", "error", "labels")
STEP = ("input", "output", "error", "progress")


def damage(store: Path, data: bytes | None) -> None:
    """Put ``data`` wherever a task or a step holds JSON; None where a column may be empty."""
    with closing(sqlite3.connect(store)) as connection, connection:
        for table, columns in (("stepward_task", TASK), ("stepward_step", STEP)):
            for column in columns:
                if data is not None or column not in ("input", "labels"):
                    connection.execute(f"update {table} set {column} = ?", (data,))
        if data is not None:
            connection.execute("update stepward_alert set details = ?", (data,))
            connection.execute("update stepward_audit set details = ?", (data,))


@pytest.mark.parametrize("data", [*DAMAGED, None], ids=lambda data: repr(data)[:30])
@pytest.mark.parametrize("id", ["good", "failed", "undone", "waiting", "suspended"])
def test_every_command_that_looks_works(store: Path, stepward: Stepward, id: str, data: bytes | None) -> None:
    damage(store, data)
    for command in (["show", id], ["steps", id], ["audit", id], ["tasks"], ["alerts"]):
        for more in ([], ["--json"]):
            result = stepward(*command, *more)
            assert (result.exit_code, result.stderr) == (0, ""), command
            if more:
                json.loads(result.stdout)


def test_unreadable_rows_are_shown(store: Path, stepward: Stepward) -> None:
    damage(store, b"\xff\xfe{")
    (step, *_) = json.loads(stepward("steps", "failed", "--json").stdout)
    assert step["error"] == {"unreadable": r"\xff\xfe{", "bytes": 3}
    assert "unreadable" in stepward("show", "failed").stdout


@pytest.mark.parametrize("data", [*DAMAGED, None], ids=lambda data: repr(data)[:30])
async def test_a_task_with_damaged_rows_is_undone_or_raises_an_alert(store: Path, data: bytes | None) -> None:
    app: App = load_app(SHOP)
    damage(store, data)
    async with app.running(), app.client() as client:
        for id in ("good", "failed", "waiting"):
            handle = client.task(id)
            await handle.undo()
            try:
                await handle.result(timeout=20)
            except TaskFailed:
                assert [alert for alert in await client.alerts() if alert.task_id == id]
            except Exception as error:
                assert type(error).__name__ in ("TaskUndone", "TaskCancelled")
            status = await handle.status()
            assert status.state in (TaskState.UNDONE, TaskState.ERROR)
            assert await handle.steps() is not None
            assert await client.audits(id)
