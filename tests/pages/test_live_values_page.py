"""docs/live-values.md: its example runs, and its reader reads what it says."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from stepward.model.live_values import MOST_WRITTEN, WRITTEN_BYTES
from stepward.testing import environment

PAGE = (Path(__file__).parents[2] / "docs" / "live-values.md").read_text(encoding="utf-8")


async def test_its_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    module = ModuleType("desk")
    declared, reader, *_ = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(compile(declared + reader, "live-values.md", "exec"), module.__dict__)
    names: dict[str, Any] = vars(module)
    async with environment(names["app"], fakes={names["answer"]: names["answer"].fn}) as env:
        await names["watch"](env.client)
    assert capsys.readouterr().out.splitlines() == ["0 It", "1 depends.", "2 It", "3 depends.", "2 None"]


def test_its_limits_are_those_of_the_code() -> None:
    assert f"at most {MOST_WRITTEN:,} values of {WRITTEN_BYTES // 1024} KiB" in PAGE
