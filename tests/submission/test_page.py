"""docs/submission.md: its code runs, and its tables say what the code says."""

from __future__ import annotations

import asyncio
import importlib
import re
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from stepward import App
from stepward.cli.input.targets import load_app
from stepward.cli.main import cli
from stepward.model.messages.status_events import KEPT_SECONDS, StatusEventType
from stepward.submission import accept_calls, acceptance, message_results, submitter

PAGE = (Path(__file__).parents[2] / "docs" / "submission.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"```python\n# (\w+\.py)\n(.*?)```", PAGE, re.DOTALL))
MODULES = [name.removesuffix(".py") for name in FILES]


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> App:
    """The page's files in the current folder, and its application."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    for name in MODULES:
        monkeypatch.delitem(sys.modules, name, raising=False)
    for name, code in FILES.items():
        Path(name).write_text(code, encoding="utf-8")
    return load_app("shop:app")


def test_an_order_is_posted_and_followed_as_the_page_says(shop: App, capsys: pytest.CaptureFixture[str]) -> None:
    rows = asyncio.run(_order(shop))
    assert sorted(rows) == [("A-1", "ada", "teapot", 1), ("A-2", "ada", "kettle", 2)]
    told = [line.split(" ", 3)[:3] for line in capsys.readouterr().out.splitlines()]
    assert told == [
        ["A-1", "1", "stepward.request.received"],
        ["A-1", "2", "stepward.task.started"],
        ["A-1", "3", "stepward.task.completed"],
    ]


async def _order(shop: App) -> list[Any]:
    module = importlib.import_module("shop")
    web, shell = importlib.import_module("web"), importlib.import_module("shell")
    await module.set_up()
    async with shop.running(), shop.client() as client, asyncio.timeout(30):
        assert await web.place({"customer": "ada", "product": "teapot"}, "A-1") == "stepward.task.completed"
        blocking = await asyncio.to_thread(shell.place, {"customer": "ada", "product": "kettle", "quantity": 2})
        async with client.transaction() as transaction:
            rows = await transaction.execute("select * from shop_order")
    return [("A-2" if id == blocking else id, *rest) for id, *rest in rows]


def test_what_is_typed_in_the_terminal(shop: App) -> None:
    (typed, answer) = re.findall(r"\$ stepward (post .*)\n(.*)\n", PAGE)[0]
    result = CliRunner().invoke(cli, shlex.split(typed))
    assert (result.stdout, result.stderr) == (f"{answer}\n", "")


def test_every_type_of_event_stands_on_the_page() -> None:
    table = PAGE.partition("## Types of events")[2].partition("## ")[0]
    named = re.findall(r"`((?:request|task|step)\.\w+)`", table)
    assert sorted(named) == sorted(told.value.removeprefix("stepward.") for told in StatusEventType)


def test_the_limits_are_the_codes_own() -> None:
    limits = PAGE.partition("## Limits")[2]
    for words in (
        f"| {submitter.BATCH}, and none is begun after {acceptance.TRANSACTION_SECONDS:.0f} s |",
        f"| {submitter.LEASE:.0f} s, renewed while",
        f"| {accept_calls.ACCEPT_SECONDS:.0f} s |",
        f"| {message_results.MOST_TRIES}; the delays between them grow from {message_results.FIRST_DELAY:.0f} s |",
        f"| {KEPT_SECONDS / 86_400:.0f} days |",
    ):
        assert words in limits
