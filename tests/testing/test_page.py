"""docs/testing.md: its tests run, on the shop of the README, and pass."""

from __future__ import annotations

import asyncio
import inspect
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.testing.test_pytest_plugin import run_pytest

ROOT = Path(__file__).parents[2]


def _code(page: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL)


def _module(name: str, code: str) -> ModuleType:
    module = ModuleType(name)
    exec(compile(code, f"{name}.py", "exec"), module.__dict__)
    return module


def test_the_tests_of_the_page_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "shop", _module("shop", _code("README.md")[0]))
    tests_of_shop, check_of_undo, _conftest, _fixtures = _code("docs/testing.md")
    page = _module("test_shop", tests_of_shop + check_of_undo)
    tests = [value for name, value in vars(page).items() if name.startswith("test_")]

    assert len(tests) == 5
    for test in tests:
        asyncio.run(test()) if inspect.iscoroutinefunction(test) else test()


async def test_the_fixtures_of_the_page_work(tmp_path: Path) -> None:
    _tests_of_shop, _check_of_undo, conftest, test = _code("docs/testing.md")
    (tmp_path / "shop.py").write_text(_code("README.md")[0])
    (tmp_path / "conftest.py").write_text(conftest)
    (tmp_path / "test_fixtures.py").write_text(test)

    assert "1 passed" in await run_pytest(tmp_path, "-p", "no:asyncio", "-p", "no:anyio")
