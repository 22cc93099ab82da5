"""``stepward init``: the project that it writes runs at once."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from stepward.cli.input.targets import load_app
from tests.testing.test_pytest_plugin import run_pytest

from .conftest import Stepward, one_line


async def test_the_tests_of_a_new_project_pass(empty: Path, stepward: Stepward) -> None:
    result = stepward("init", "my shop!")
    assert (result.exit_code, result.stdout) == (0, "my shop!: 9 files written; go on with my shop!/README.md\n")
    found = await run_pytest(empty / "my shop!", "-p", "no:asyncio", "-p", "no:anyio")
    assert "3 passed" in found, found


def test_the_application_of_a_new_project_runs(
    empty: Path, stepward: Stepward, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert stepward("init", "shop").exit_code == 0
    monkeypatch.chdir(empty / "shop")
    app = load_app("app.py:app")
    assert (app.name, app.settings.store) == ("shop", "sqlite:///shop.db")

    async def run() -> object:
        async with app.running(), app.client() as client:
            return await (await client.submit("fulfil", "A-1", 4200, "Elm Street 5")).result("30s")

    assert asyncio.run(run()) == "parcel-A-1"
    assert (empty / "shop" / "shop.db").exists()


def test_a_folder_with_content_is_left_as_it_is(empty: Path, stepward: Stepward) -> None:
    (empty / "shop").mkdir()
    (empty / "shop" / "mine.txt").touch()
    result = stepward("init", "shop")
    assert result.exit_code == 2
    assert one_line(result) == (
        "stepward: FOLDER: expected a new or an empty one, found shop with content; name another"
    )
    assert [path.name for path in (empty / "shop").iterdir()] == ["mine.txt"]
