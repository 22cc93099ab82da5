"""docs/updates.md: its examples run, and its limits are those of the code."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from stepward import App
from stepward.store.rules.inbox_rules import MOST_SIGNALS, SIGNAL_BYTES
from stepward.testing import environment

PAGE = (Path(__file__).parents[2] / "docs" / "updates.md").read_text(encoding="utf-8")


def names_of(*blocks: str) -> dict[str, Any]:
    module = ModuleType("post")
    exec(compile("".join(blocks), "updates.md", "exec"), module.__dict__)
    return vars(module)


BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


async def test_its_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    names = names_of(*BLOCKS[:2])
    async with environment(names["app"]) as env:
        await names["move"](env.client)
        (task,) = await env.client.tasks()
        assert await env.client.task(task.id).result() == "Mole 7"
    assert capsys.readouterr().out == "1\n"


async def test_its_workflow_with_a_task_for_updates_runs() -> None:
    order = names_of(BLOCKS[2])["order"]
    async with environment(App("orders", workflows=[order])) as env:
        task = await env.client.submit(order, 5)
        assert [await task.update("set_limit", 7), await task.update("set_limit", 9)] == [5, 7]
        await task.signal("approved")
        assert await task.result() == 9


def test_its_limits_are_those_of_the_code() -> None:
    assert f"{MOST_SIGNALS:,} signals and updates wait already, or {SIGNAL_BYTES // 2**20} MiB of them" in PAGE
