"""The drawings in docs/states.md are generated from the tables of moves."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import TypeVar

from stepward.model.states import STEP_MOVES, TASK_ENDS, TASK_MOVES
from stepward.scheduler.tasks.phases import LEAVING, PHASE_MOVES, Phase

PAGE = Path(__file__).parents[2] / "docs" / "states.md"
State = TypeVar("State", bound=StrEnum)


def drawing(moves: Mapping[State, frozenset[State]], first: State) -> str:
    """A Mermaid state diagram of a table of moves."""
    lines = ["```mermaid", "stateDiagram-v2", f"    [*] --> {first}"]
    for before, afters in moves.items():
        lines += [f"    {before} --> {after}" for after in sorted(afters)]
    lines += [f"    {state} --> [*]" for state, afters in moves.items() if not afters]
    return "\n".join([*lines, "```"])


def test_the_page_shows_the_tables() -> None:
    page = PAGE.read_text()
    going_on = {phase: after for phase, after in PHASE_MOVES.items() if phase not in LEAVING}
    for moves in (
        drawing(TASK_MOVES, next(iter(TASK_MOVES))),
        drawing(STEP_MOVES, next(iter(STEP_MOVES))),
        drawing(going_on, Phase.LOADING),
    ):
        assert moves in page, f"docs/states.md should hold:\n{moves}"


def test_the_page_names_every_end() -> None:
    page = PAGE.read_text()
    assert all(f"`{state}`" in page for state in TASK_ENDS)
