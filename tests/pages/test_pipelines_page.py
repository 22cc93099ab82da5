"""docs/pipelines.md: its code runs, and the command line shows what the page says."""

from __future__ import annotations

import asyncio
import re
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from stepward import App
from stepward.cli.input.targets import load_app
from stepward.cli.main import cli
from stepward.model.states import TaskState

PAGE = (Path(__file__).parents[2] / "docs" / "pipelines.md").read_text(encoding="utf-8")
CODE = re.search(r"```python\n(.*?)```", PAGE, re.DOTALL)
SHOWN = re.search(r"```console\n(.*?)```", PAGE, re.DOTALL)


def test_the_page_shows_what_the_command_line_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert CODE is not None
    assert SHOWN is not None
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    Path("shop.py").write_text(CODE[1], encoding="utf-8")
    asyncio.run(_fulfil(load_app("shop.py:app")))
    shown = CliRunner().invoke(cli, ["show", "A-1"]).stdout
    commands = [line for line in SHOWN[1].splitlines() if line.startswith("$")]
    assert commands[1] == "$ stepward show A-1"
    for part in SHOWN[1].partition(commands[1])[2].split("…\n"):
        assert part.strip() in shown


async def _fulfil(app: App) -> None:
    async with app.running(supervisor=False), app.client() as client:
        for id, address, end in (("A-0", "Elm Street 5", TaskState.PROCESSED), ("A-1", "", TaskState.ERROR)):
            task = await client.submit("fulfil", id, "teapot", 4200, address, id=id)
            async with asyncio.timeout(10):
                while (await task.status()).state is not end:  # noqa: ASYNC110 - no event tells of an error
                    await asyncio.sleep(0)
