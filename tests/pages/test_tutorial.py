"""The tutorial as a newcomer follows it: each block in its place, each command, each answer that the page shows."""

from __future__ import annotations

import asyncio
import importlib
import re
import sys
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner

from stepward.cli.input.targets import load_app
from stepward.cli.main import cli
from stepward.errors import TaskUndone
from stepward.model.states import TaskState
from tests.testing.test_pytest_plugin import run_pytest

pytestmark = pytest.mark.servers

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "tutorial.md").read_text("utf-8")
WEB = (DOCS / "tutorial-web.md").read_text("utf-8")
APP = "app.py:app"
LINE = re.compile(r"app\.py:\d+")


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that ``stepward init`` has made, as the working directory."""
    monkeypatch.chdir(tmp_path)
    assert CliRunner().invoke(cli, ["init", "shop"]).exit_code == 0
    monkeypatch.chdir(tmp_path / "shop")
    return tmp_path / "shop"


def put_in_place_of_fulfil(project: Path, block: str) -> None:
    """What the page tells: the workflow is replaced, and the application stays below it."""
    text = (project / "app.py").read_text("utf-8")
    kept, _, below = text.partition("@workflow(")
    app = "" if "\napp = App(" in block else "\n\napp = App(" + below.partition("\napp = App(")[2]
    (project / "app.py").write_text(kept + block + app, "utf-8")


async def submitted(id: str, address: str = "Elm Street 5") -> TaskState:
    """Runs the application until that order waits or has ended; its state."""
    app = load_app(APP)
    async with app.running(), app.client() as client, asyncio.timeout(30):
        task = await client.submit("fulfil", id, 4200, address, id=id)
        async for status in task.events():
            if status.state in {TaskState.WAITING, TaskState.PROCESSED, TaskState.UNDONE}:
                return status.state
    raise AssertionError("expected the order to wait or to end")


def replay() -> tuple[int, str]:
    result = CliRunner().invoke(cli, ["replay", APP])
    return result.exit_code, LINE.sub("app.py:47", result.output)


def shown(command: str) -> list[str]:
    """The answers that the page shows to a command."""
    return [text.partition("\n")[2] for text in blocks(PAGE, "console") if text.startswith(f"$ {command}\n")]


async def test_a_newcomer_gets_what_the_page_says(project: Path) -> None:
    ending, tested, unfit, fit = blocks(PAGE, "python")
    assert await submitted("A-1") is TaskState.PROCESSED
    assert await submitted("A-2", "") is TaskState.UNDONE

    put_in_place_of_fulfil(project, ending)
    (project / "test_opinion.py").write_text(tested, "utf-8")
    found = await run_pytest(project, "-p", "no:asyncio", "-p", "no:anyio")
    assert "4 passed" in found, found
    assert await submitted("A-3") is TaskState.WAITING

    put_in_place_of_fulfil(project, unfit)
    refused, accepted = shown("stepward replay app.py:app")
    assert await asyncio.to_thread(replay) == (1, refused)
    put_in_place_of_fulfil(project, fit)
    assert await asyncio.to_thread(replay) == (0, accepted)
    assert await submitted("A-4") is TaskState.WAITING
    async with load_app(APP).client() as client:
        assert "payments.check_fraud/1" in [step.key for step in await client.task("A-4").steps()]
        assert (await client.task("A-3").status()).state in {TaskState.WAITING, TaskState.PENDING}
        with pytest.raises(TaskUndone, match="no address to ship to"):
            await client.task("A-2").result(timeout="1s")


async def test_the_service_shows_progress_as_the_page_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    orders, web = (block.replace("asyncio.sleep(2)", "asyncio.sleep(0)") for block in blocks(WEB, "python"))
    (tmp_path / "orders.py").write_text(orders, "utf-8")
    (tmp_path / "web.py").write_text(web, "utf-8")
    for name in ("orders", "web"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    service = importlib.import_module("web").web
    async with service.router.lifespan_context(service) as state:

        async def serve(scope: dict[str, object], receive: object, send: object) -> None:
            await service({**scope, "state": dict(state)}, receive, send)

        transport = httpx.ASGITransport(app=serve)  # type: ignore[arg-type]
        async with httpx.AsyncClient(transport=transport, base_url="http://shop") as client, asyncio.timeout(30):
            order = {"number": "A-1", "cents": 4200, "address": "Elm Street 5"}
            placed = await client.post("/orders", json=order, headers={"Idempotency-Key": "A-1"})
            assert placed.text in WEB
            assert (await client.get("/orders/A-1/progress")).text.strip() in WEB
            assert "EventSource" in (await client.get("/orders/A-1")).text
    for name in ("orders", "web"):
        monkeypatch.delitem(sys.modules, name)
