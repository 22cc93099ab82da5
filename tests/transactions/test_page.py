"""docs/transactions.md: its application runs, its examples are the files' own, and its numbers the code's."""

from __future__ import annotations

import asyncio
import importlib
import re
import sqlite3
import sys
from pathlib import Path

import pytest

from stepward.cli.input.targets import load_app
from stepward.outbox import outbox_table, postgres, relay, unknown_workflows
from stepward.settings import Settings

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "transactions.md").read_text(encoding="utf-8")


async def test_the_pages_outbox_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    match = re.search(r"```python\n# orders.py\n(.*?)```", PAGE, re.DOTALL)
    assert match is not None
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    Path("orders.py").write_text(match[1], encoding="utf-8")
    app = load_app("orders:app")
    module = importlib.import_module("orders")
    connection = sqlite3.connect("orders.db")
    module.set_up(connection)
    module.place(connection, "A-1")
    async with app.running(), app.client() as client, asyncio.timeout(30):
        while not await client.tasks():  # noqa: ASYNC110  the relay gets no notification
            await asyncio.sleep(0.01)
        assert await client.task("A-1").result() == "A-1 is on its way"
    assert connection.execute("select * from stepward_outbox").fetchall() == []
    for statement in re.findall(r"```sql\n(.*?)```", PAGE, re.DOTALL)[0].strip().splitlines():
        connection.execute(statement)
    connection.close()
    monkeypatch.delitem(sys.modules, "orders")


def test_the_first_example_is_the_files_own() -> None:
    example = (ROOT / "examples" / "transactions" / "with_asyncpg.py").read_text(encoding="utf-8")
    (shown,) = re.findall(r"```python\n(async with connection.*?)```", PAGE, re.DOTALL)
    for line in shown.splitlines():
        assert line.partition("  #")[0].strip() in example


def test_every_example_is_meant() -> None:
    files = {path.stem for path in (ROOT / "examples" / "transactions").glob("with_*.py")}
    assert {name.split("_")[1] for name in files} == {"asyncpg", "psycopg", "sqlalchemy", "django", "outbox"}
    for word in ("asyncpg", "psycopg 3", "SQLAlchemy 2", "Django", "outbox"):
        assert word in PAGE


def test_the_numbers_are_the_codes_own() -> None:
    assert f"{relay.BATCH} rows at once" in PAGE
    assert f"for at most {postgres.SECONDS:.0f} seconds" in PAGE
    assert (unknown_workflows.PATIENCE_SECONDS, "five minutes" in PAGE) == (300, True)
    assert (Settings.load({}, {}, ROOT / "docs").poll, "`poll`, a second unless set" in PAGE) == (1.0, True)
    for database in ("postgresql", "sqlite"):
        assert "reason" in outbox_table(database)
