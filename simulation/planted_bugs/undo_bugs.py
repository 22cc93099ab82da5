"""Planted bugs of undo: what is taken back, in which order, and what goes on meanwhile; see ``bugs``."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from msgspec.structs import replace

from simulation.planted_bugs.planting import bug, put
from stepward.model import effects
from stepward.model.states import StepState
from stepward.scheduler.tasks import step_rows as rows
from stepward.scheduler.tasks.active_task import ActiveTask
from stepward.scheduler.tasks.advance import Advance
from stepward.workflow import undo_planner


@bug
def possibly_executed_not_undone(stack: ExitStack) -> None:
    """Undo takes only completed steps back."""
    original = effects.needs_undo
    put(stack, undo_planner, "needs_undo", lambda step: step.state is StepState.COMPLETED and original(step))


@bug
def undone_oldest_first(stack: ExitStack) -> None:
    """Undo goes forward in time."""
    original = undo_planner._recency
    put(stack, undo_planner, "_recency", lambda step: tuple(-part for part in original(step)))


@bug
def goes_forward_after_undo(stack: ExitStack) -> None:
    """Steps that wait to be repeated are repeated although undo began."""
    put(stack, ActiveTask, "may_start", lambda self, step: True)


@bug
def abandoned_left_standing(stack: ExitStack) -> None:
    """What workflow code gave up is not taken back before the task ends."""
    put(stack, Advance, "_leave_run", lambda self, active, now: self._ends.left(active, now))


@bug
def doubt_forgotten(stack: ExitStack) -> None:
    """A step that failed with an unknown outcome is taken for one that never acted."""
    original = rows.finish

    def finish(step: Any, reply: Any, delivered: Any, now: float) -> Any:
        return replace(original(step, reply, delivered, now), in_doubt=False)

    put(stack, rows, "finish", finish)


OF_UNDO = (
    possibly_executed_not_undone,
    undone_oldest_first,
    goes_forward_after_undo,
    abandoned_left_standing,
    doubt_forgotten,
)
