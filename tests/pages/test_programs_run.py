"""The Python of the documentation runs: each page's program is imported, and what it does with a client is done."""

from __future__ import annotations

import asyncio
import importlib.util
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from stepward import App
from stepward.testing import AppEnvironment, environment
from tests.pages.page_programs import FOLDER, IMPORTED, WRONG, Program, programs

PROGRAMS = {program.name: program for program in programs()}
ELSEWHERE = {
    "tour": "Django has no settings here; each of its parts is on another page",
    "transactions": "Django has no settings here; its examples run in tests/transactions",
}
"""Programs that are not imported, and why."""
BY_CLIENT = ("batches", "fairness", "flow_control", "schedules", "search")
"""Programs that use a client."""


@pytest.fixture
def loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, ModuleType]]:
    """The programs, imported in a folder of their own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "none")  # pages name models, and ask none
    found: dict[str, ModuleType] = {}
    names = [*IMPORTED.values(), *(name for name in PROGRAMS if name not in IMPORTED.values())]
    for name in names:
        if name not in ELSEWHERE:
            found[name] = _imported(PROGRAMS[name], tmp_path, monkeypatch)
    yield found


def _imported(program: Program, folder: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    path = folder / f"{program.name}.py"
    path.write_text("\n".join(_right(program.text.splitlines())), "utf-8")
    full = f"{FOLDER.replace('/', '.')}.{program.name}"
    spec = importlib.util.spec_from_file_location(full, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, full, module)
    spec.loader.exec_module(module)
    return module


def _right(lines: list[str]) -> Iterator[str]:
    """The lines without those that are wrong; the only one of a block becomes ``pass``."""
    before = ""
    for line in lines:
        if WRONG not in line:
            yield line
        elif before.endswith(":"):
            yield f"{line[: len(line) - len(line.lstrip())]}pass"
        before = line


async def test_what_pages_do_with_a_client_works(loaded: dict[str, ModuleType]) -> None:
    for name in BY_CLIENT:
        module = loaded[name]
        workflows = [value for value in vars(module).values() if type(value).__name__ == "Workflow"]
        async with environment(App("shop", workflows=workflows)) as env:
            await _done(module, env)


async def _done(module: ModuleType, env: AppEnvironment) -> None:
    for name, block in list(vars(module).items()):
        if name.startswith("block_"):
            assert "client" in inspect.signature(block).parameters
            async with asyncio.timeout(3600):
                await block(client=env.client)


async def test_the_first_program_of_the_readme_runs(
    loaded: dict[str, ModuleType], capsys: pytest.CaptureFixture[str]
) -> None:
    await loaded["readme_shop"].block_2()
    assert capsys.readouterr().out == "parcel-A-3\n"
