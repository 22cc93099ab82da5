"""docs/changing-code.md: every example that it allows fits at every point of a task's life, the others do not."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import stepward
from stepward.model.tasks.stopped_tasks import FIRST_RETRY, LONGEST_RETRY, WAITS_FOR
from stepward.workflow.decisions import Diverged
from stepward.workflow.definition import Workflow
from tests.workflow.play import Play

PAGE = (Path(__file__).parents[2] / "docs" / "changing-code.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"(?:<!-- (\w+) -->\n)?```python\n(.*?)```(?:\n\n```text\n(.*?)\n```)?", re.DOTALL)
ACTS: list[Callable[[Play], None]] = [
    lambda play: play.finish("payments.charge/1", "paid"),
    lambda play: play.finish("parcels.ship/1", "parcel 7"),
    lambda play: play.signal("delivered"),
]


class Example(NamedTuple):
    """Code of the page, whether it is allowed, and the expected message."""

    allowed: bool
    code: str
    told: str


BLOCKS = list(BLOCK.finditer(PAGE))
EXAMPLES = [Example(found[1] == "allowed", found[2], found[3] or "") for found in BLOCKS[1:]]


def served(code: str) -> Workflow[..., Any]:
    """What the page's workflow is with that code in the place of its own."""
    names: dict[str, Any] = {"asyncio": asyncio}
    exec(compile(BLOCKS[0][2], "before.py", "exec"), names)
    exec(compile(code, "shop.py", "exec"), names)
    found: Workflow[..., Any] = names["order"]
    return found


def at(point: int) -> Play:
    """The page's task after so many acts."""
    play = Play(served(""), "o-1")
    for act in ACTS[:point]:
        act(play)
    return play


def ids(example: Example) -> str:
    return ("allowed: " if example.allowed else "forbidden: ") + (example.told or example.code.strip())[-60:]


def test_it_has_examples_of_both_kinds() -> None:
    assert len([example for example in EXAMPLES if example.allowed]) == 4
    assert len([example for example in EXAMPLES if not example.allowed]) == 9
    assert all(example.told for example in EXAMPLES if not example.allowed)


@pytest.mark.parametrize("point", range(len(ACTS) + 1))
@pytest.mark.parametrize("example", [each for each in EXAMPLES if each.allowed], ids=ids)
def test_allowed_changes_fit_wherever_a_task_is(example: Example, point: int) -> None:
    play = at(point)
    changed = served(example.code)
    play.restart(changed)
    assert not isinstance(play.end, Diverged)
    while play.end is None:
        if play.running:
            play.finish(play.running[0], "P")
        else:
            play.signal("delivered")
        play.restart(changed)
    assert not isinstance(play.end, Diverged)


@pytest.mark.parametrize("example", [each for each in EXAMPLES if not each.allowed], ids=ids)
def test_forbidden_changes_stop_a_task_that_has_come_so_far(example: Example) -> None:
    play = at(len(ACTS))
    decisions = play.restart(served(example.code))
    assert isinstance(play.end, Diverged), play.end
    assert example.told in play.end.message
    assert not (decisions.calls or decisions.recorded or decisions.delivered or decisions.abandoned)
    assert not isinstance(play.restart().end, Diverged)


def test_the_pages_account_of_waiting_is_true() -> None:
    assert WAITS_FOR in PAGE
    assert (FIRST_RETRY, LONGEST_RETRY) == (15, 600)
    assert hasattr(stepward, "patched")
