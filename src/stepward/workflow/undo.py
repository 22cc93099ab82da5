"""Undo, decided from the records alone: newest first, nothing that may have happened is left out.

The planner is pure: steps and an instant in, the next thing to do out. It is asked again after everything that
happens, so a crash anywhere leaves it nothing to remember.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from stepward.model.records import Step
from stepward.model.states import StepKind, StepState

SUFFIX = "~undo"
POSSIBLY = frozenset({StepState.RUNNING, StepState.TO_REPEAT, StepState.ABANDONED})
"""States in which an attempt may have had its effect although no outcome is recorded."""
UNDOABLE = frozenset({StepKind.OPERATION, StepKind.CHILD})


class StartUndo(Struct, frozen=True):
    """Undo this step now."""

    step: Step


class WaitFor(Struct, frozen=True):
    """Nothing to start: an undo is under way (``until`` None), or an attempt may act until then."""

    until: float | None


class Stuck(Struct, frozen=True):
    """Undo cannot go on: an operator must help."""

    step: str
    message: str


class Barred(Struct, frozen=True):
    """An irreversible step stands in the way: nothing may be undone, the task can only go forward."""

    step: str
    message: str


class Finished(Struct, frozen=True):
    """All that had to be undone is undone; ``in_doubt`` names steps without an undo that may have acted."""

    in_doubt: list[str]


Plan = StartUndo | WaitFor | Stuck | Barred | Finished


def undo_key(step: Step) -> str:
    """The key of the step that undoes ``step``."""
    return step.key + SUFFIX


def undo_input(step: Step) -> bytes:
    """The argument array of the undo: the result (null if unknown), then the operation's own arguments."""
    result = step.output if step.output is not None else b"null"
    rest = step.input[1:]
    return b"[" + result + (b"" if rest == b"]" else b",") + rest


def plan(steps: Sequence[Step], now: float) -> Plan:
    """What a task that is undoing does next."""
    barrier = _barrier(steps, now)
    if barrier is not None:
        return barrier
    return _next(steps, [step for step in steps if needs_undo(step)], now)


def plan_abandoned(steps: Sequence[Step], now: float) -> Plan:
    """What a task does before it ends ``processed``: steps that nobody awaited any more are undone."""
    abandoned = [step for step in steps if needs_undo(step) and step.state is StepState.ABANDONED]
    return _next(steps, abandoned, now)


def has_begun(steps: Sequence[Step]) -> bool:
    """Whether anything was undone, or may have been."""
    return any(step.kind is StepKind.UNDO for step in steps)


def _barrier(steps: Sequence[Step], now: float) -> Barred | WaitFor | None:
    """What an irreversible step asks for; one that is under way may still turn out not to have happened."""
    barriers = [step for step in steps if step.irreversible and may_have_acted(step)]
    for step in barriers:
        if not _may_still_act(step, now):
            return Barred(step.key, f"{step.key} is irreversible: the task can only go forward past it")
    return WaitFor(min(step.complete_by or now for step in barriers)) if barriers else None


def may_have_acted(step: Step) -> bool:
    """Whether the step's effect happened or possibly happened."""
    if step.kind not in UNDOABLE or step.attempt == 0:
        return False
    if step.state in POSSIBLY or step.state is StepState.COMPLETED:
        return True
    return step.state is StepState.FAILED and step.in_doubt


def is_deferred(step: Step) -> bool:
    """Whether its Agent has done its part, and somebody outside is to finish the step."""
    return step.deferred_at is not None and step.state is StepState.RUNNING


def needs_undo(step: Step) -> bool:
    """Whether undoing the task has to undo this step."""
    return may_have_acted(step) and (step.has_undo or step.kind is StepKind.CHILD)


def _next(steps: Sequence[Step], wanted: list[Step], now: float) -> Plan:
    undos = {(step.run, step.key): step for step in steps if step.kind is StepKind.UNDO}
    for step in sorted(wanted, key=_recency, reverse=True):
        undo = undos.get((step.run, undo_key(step)))
        if undo is not None:
            return _going_on(step, undo)
        if step.kind is StepKind.OPERATION and _may_still_act(step, now):
            return WaitFor(step.complete_by)
        return StartUndo(step)
    return Finished(_in_doubt(steps))


def _going_on(step: Step, undo: Step) -> Plan:
    if undo.state is StepState.FAILED:
        return Stuck(undo.key, f"the undo of {step.key} failed")
    return WaitFor(undo.repeat_at if undo.state is StepState.TO_REPEAT else None)


def _recency(step: Step) -> tuple[int, int, int]:
    """Unknown outcomes count as newest; then the order in which outcomes were delivered."""
    if step.ordinal is None:
        return (step.run, 1, step.number)
    return (step.run, 0, step.ordinal)


def _may_still_act(step: Step, now: float) -> bool:
    """An attempt in flight may act until its complete-by; one that answered or was judged will not.

    Whoever was to finish a step from outside is refused once undo began: that is not waited for.
    """
    if step.deferred_at is not None:
        return False
    if step.state is StepState.RUNNING:
        return step.complete_by is not None and now < step.complete_by
    unanswered = step.output is None and step.finished_at is None
    return step.state is StepState.ABANDONED and unanswered and step.complete_by is not None and now < step.complete_by


def _in_doubt(steps: Iterable[Step]) -> list[str]:
    return [
        step.key
        for step in steps
        if _was_seen_to_by_hand(step)
        or (step.kind is StepKind.OPERATION and not step.has_undo and _outcome_unknown(step))
    ]


def _was_seen_to_by_hand(step: Step) -> bool:
    """Marked as done before it ever ran: what a person did, only a person can undo."""
    return step.kind in UNDOABLE and step.attempt == 0 and step.state is StepState.COMPLETED


def _outcome_unknown(step: Step) -> bool:
    return may_have_acted(step) and step.state is not StepState.COMPLETED and step.output is None
