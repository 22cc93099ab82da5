"""docs/testing.md: its tests run, on the shop of the README, and pass."""

from __future__ import annotations

import asyncio
import inspect
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


def _first_code(page: str) -> str:
    found = re.search(r"```python\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    return found[1]


def _module(name: str, code: str) -> ModuleType:
    module = ModuleType(name)
    exec(compile(code, f"{name}.py", "exec"), module.__dict__)
    return module


def test_the_tests_of_the_page_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "shop", _module("shop", _first_code("README.md")))
    page = _module("test_shop", _first_code("docs/testing.md"))
    tests = [value for name, value in vars(page).items() if name.startswith("test_")]

    assert len(tests) == 4
    for test in tests:
        asyncio.run(test()) if inspect.iscoroutinefunction(test) else test()
