"""A task's record as it is read: what of it is replayed, what is open, and what was set aside or planned."""

from __future__ import annotations

from collections import OrderedDict

from stepward.model.effects import undo_key
from stepward.model.pipeline_plan import is_planned
from stepward.model.records import History, Step
from stepward.model.states import StepKind, StepState
from stepward.scheduler.tasks import step_rows as rows
from stepward.scheduler.tasks.active_task import ActiveTask

OPEN = frozenset({StepState.NOT_STARTED, StepState.RUNNING, StepState.TO_REPEAT})
ANSWERED = frozenset({StepState.COMPLETED, StepState.FAILED})


def taken_up(active: ActiveTask, history: History, now: float) -> list[Step]:
    """Have the task, which is new in memory, remember its record; the steps that are replayed."""
    if not history.steps:
        return []
    live = _live(active, history.steps)
    reached = _reached(active, live)
    active.open = {(s.run, s.key): s for s in reached if s.state in OPEN}
    active.abandoned = [s for s in live if s.state is StepState.ABANDONED] or ()
    recorded = {s.key: (s, _failure(s)) for s in live if s.ordinal is None and s.state in ANSWERED}
    active.recorded = OrderedDict(recorded) if recorded else None
    active.bytes = sum([len(s.input) + len(s.output or b"") for s in history.steps])
    _take_up_cleaning(active, live, now)
    return [step for step in reached if step.kind is not StepKind.UNDO]


def _live(active: ActiveTask, steps: list[Step]) -> list[Step]:
    """The steps that are replayed: without those that repairs set aside, and without their undos."""
    active.set_aside = [step for step in steps if step.set_aside_at is not None] or ()
    if not active.set_aside:
        return steps
    beside = {step.key for step in active.set_aside} | {undo_key(step) for step in active.set_aside}
    return [step for step in steps if step.key not in beside]


def _reached(active: ActiveTask, steps: list[Step]) -> list[Step]:
    """The steps without those that are only planned, which are no history."""
    planned = {(step.run, step.key) for step in steps if is_planned(step)}
    if not planned:
        return steps
    active.planned = planned
    return [step for step in steps if not is_planned(step)]


def _take_up_cleaning(active: ActiveTask, live: list[Step], now: float) -> None:
    """Undos that were begun go on; what an operator undid by hand is undone."""
    undos = {step.key: step for step in live if step.kind is StepKind.UNDO}
    for step in active.abandoned:
        undo = undos.get(undo_key(step))
        if undo is not None and undo.state is StepState.COMPLETED:
            active.changed().move_step(rows.move(step, StepState.UNDONE, now))
    active.steps = [*active.abandoned, *undos.values()]


def _failure(step: Step) -> bytes | None:
    return step.error or b"{}" if step.state is StepState.FAILED else None
