"""docs/long-steps.md: its code is Python, and its tables name what there is."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from stepward.model.current_step import PROGRESS_BYTES, CurrentStep
from stepward.store.contract import RefusalReason

PAGE = (Path(__file__).parents[2] / "docs" / "long-steps.md").read_text(encoding="utf-8")


def test_its_code_can_be_read() -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert len(blocks) == 3
    for block in blocks:
        compile(block, "long-steps.md", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


def test_it_names_every_reason_why_a_completion_is_refused() -> None:
    table = PAGE.partition("| `reason` | the token |")[2].partition("\n\n")[0]
    named = {reason for line in table.splitlines() for reason in re.findall(r"`(\w+)`", line.partition(" | ")[0])}
    assert named == {reason.value for reason in RefusalReason}


def test_named_attributes_of_the_current_step_exist() -> None:
    for name in ("progress", "heartbeat", "completion_token", "finish_later"):
        assert name in PAGE
        assert hasattr(CurrentStep, name)
    assert PROGRESS_BYTES == 2 * 1024
