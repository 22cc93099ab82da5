from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from stepward import App, TaskFailed, TaskHandle, TaskStatus, TaskUndone
from stepward.cli.input.targets import load_app
from stepward.cli.main import cli
from stepward.model.states import TaskState
from tests.cli import troubles

SHOP = f"{Path(__file__).with_name('shop.py')}:app"
MENDING = f"{Path(__file__).with_name('mending.py')}:app"
LONG_ID = "order-" + "0123456789" * 19 + "-end"

Stepward = Callable[..., Result]

# In the background of a shell ^C is ignored, and so it would be by every process that tests begin.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with a task in every state that lasts."""
    folder = tmp_path_factory.mktemp("filled")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("STEPWARD_EVICT_AFTER", "0")
        asyncio.run(_fill(load_app(SHOP)))
    return folder / "stepward.db"


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder without a store, as the current one, and no settings from outside."""
    for name in [name for name in os.environ if name.startswith("STEPWARD_") or name == "COLUMNS"]:
        monkeypatch.delenv(name)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def store(empty: Path, filled: Path) -> Path:
    """A copy of the filled store in the current folder."""
    return Path(shutil.copy(filled, empty / "stepward.db"))


@pytest.fixture(scope="session")
def every_trouble(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with a task of every kind that needs an operator."""
    folder = tmp_path_factory.mktemp("troubled")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("STEPWARD_EVICT_AFTER", "0")
        patch.setenv("STEPWARD_SUPERVISOR_EVERY", "100ms")
        asyncio.run(troubles.fill(load_app(MENDING)))
    return folder / "stepward.db"


@pytest.fixture
def troubled(empty: Path, every_trouble: Path) -> Path:
    """A copy of it in the current folder."""
    return Path(shutil.copy(every_trouble, empty / "stepward.db"))


@pytest.fixture
def stepward() -> Stepward:
    """Runs the command line in this process."""

    def invoke(*args: str, stdin: str | None = None, **env: str) -> Result:
        return CliRunner().invoke(cli, args, env=env, input=stdin)

    return invoke


async def _fill(app: App) -> None:
    async with app.running(supervisor=False), app.client() as client:
        await (await client.submit("good", 1, id="good")).result()
        await (await client.submit("good", 2, id=LONG_ID, labels={"who": "日本 🙈"})).result()
        with pytest.raises(TaskFailed):
            await (await client.submit("failing", "f", id="failed", labels={"customer": "42"})).result()
        with pytest.raises(TaskFailed):
            await (await client.submit("failing", "f", id=LONG_ID.replace("order", "fails"))).result()
        with pytest.raises(TaskUndone):
            await (await client.submit("undoing", "u", id="undone")).result()
        for id in ("waiting", "suspended"):
            await _until(await client.submit("approval", "a", id=id), lambda task: task.state is TaskState.WAITING)
        # A task that its Scheduler keeps in memory is pending again when that one ends.
        await _until(client.task("waiting"), lambda task: task.locked_by is None)
        await client.task("suspended").suspend()
        await _until(client.task("suspended"), lambda task: task.state is TaskState.SUSPENDED)
        await client.submit("good", 3, id="pending", delay="1h")


async def _until(task: TaskHandle, reached: Callable[[TaskStatus], bool]) -> None:
    while not reached(await task.status()):  # noqa: ASYNC110 - no event tells of what a store will show
        await asyncio.sleep(0)


def one_line(result: Result) -> str:
    """The one line on stderr that a command which went wrong must give, and nothing else."""
    assert result.stdout == ""
    lines: list[Any] = result.stderr.splitlines()
    assert len(lines) == 1, result.stderr
    assert lines[0].startswith("stepward: ")
    assert lines[0].isprintable()
    return str(lines[0])
