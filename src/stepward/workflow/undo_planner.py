"""Undo, decided from the records alone: newest first, nothing that may have happened is left out.

The planner is pure: steps and an instant in, the next thing to do out. It is asked again after everything that
happens, so a crash anywhere leaves it nothing to remember. ``UndoOrder`` is the same planner for steps that stay in
memory: it sorts them once, so that an undo of many steps does not read all of them after each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct

from stepward.model.effects import SUFFIX, UNDOABLE, is_in_doubt, may_have_acted, needs_undo, never_ran, undo_key
from stepward.model.records import Step
from stepward.model.states import CHILD, COMPLETED, NOT_STARTED, OPERATION, UNDO, StepKind, StepState


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


UndoPlan = StartUndo | WaitFor | Stuck | Barred | Finished


def plan(steps: Sequence[Step], now: float) -> UndoPlan:
    """What a task that is undoing does next."""
    return UndoOrder(steps).plan(now)


def plan_abandoned(steps: Sequence[Step], now: float) -> UndoPlan:
    """What a task does before it ends ``processed``: steps that are no longer awaited are undone."""
    return UndoOrder(steps).plan_abandoned(now)


class UndoOrder:
    """Plans the undo of steps that stay in memory; each is looked at once and not after everything that happens.

    That rests on what happens to the steps of a task whose workflow code is over: rows are added at the end, a step
    that needs no undo never comes to need one, and the order of outcomes stands. Before it answers ``Finished`` it
    looks at all of them again.
    """

    def __init__(self, steps: Sequence[Step]) -> None:
        self.steps = steps
        self._rows: dict[tuple[int, str], Step] = {}
        self._keyed = self._seen = 0
        self._irreversible: list[Step] = []
        self._unstarted: list[Step] = []
        self._wanted: list[Step] | None = None
        self._is_wanted: Callable[[Step], bool] = needs_undo
        self._read()

    def is_of(self, steps: Sequence[Step]) -> bool:
        """Whether it plans for this very list."""
        return self.steps is steps

    def plan(self, now: float) -> UndoPlan:
        """What a task that is undoing does next."""
        self._read()
        self._irreversible = [step for step in self._irreversible if may_have_acted(step)]
        return _barrier(self._irreversible, now) or self._next(needs_undo, now)

    def plan_abandoned(self, now: float) -> UndoPlan:
        """What a task does before it ends ``processed``: steps that are no longer awaited are undone."""
        return self._next(_is_abandoned, now)

    def unstarted(self) -> list[Step]:
        """Steps that have not begun, undos aside, since this was last asked."""
        self._read()
        found = [step for step in self._unstarted if step.state is NOT_STARTED]
        self._unstarted = []
        return found

    def undo_of(self, step: Step) -> Step | None:
        """The row that undoes ``step``, if there is one."""
        return self._row(step.run, undo_key(step))

    def undone_by(self, undo: Step) -> Step:
        """The step that ``undo`` undoes."""
        step = self._row(undo.run, undo.key.removesuffix(SUFFIX))
        if step is None:
            raise LookupError(f"expected the step that {undo.key} of run {undo.run} undoes, found no such row")
        return step

    def _row(self, run: int, key: str) -> Step | None:
        if self._keyed < len(self.steps):
            added = self.steps[self._keyed :]
            self._keyed += len(added)
            self._rows.update(((step.run, step.key), step) for step in added)
        return self._rows.get((run, key))

    def _read(self) -> None:
        """Take in the rows that were added since."""
        if self._seen == len(self.steps):
            return
        added = self.steps[self._seen :]
        self._seen += len(added)
        self._irreversible += [step for step in added if step.irreversible]
        if unstarted := [step for step in added if step.kind is not UNDO]:
            self._unstarted += unstarted
            self._wanted = None

    def _next(self, is_wanted: Callable[[Step], bool], now: float) -> UndoPlan:
        step = self._newest(is_wanted)
        if step is None:
            return Finished(_in_doubt(self.steps))
        return _begun(step, self.undo_of(step), now)

    def _newest(self, is_wanted: Callable[[Step], bool]) -> Step | None:
        """Of the steps that are to be undone, the newest."""
        self._read()
        if self._is_wanted is is_wanted and self._wanted:
            while self._wanted:
                if is_wanted(self._wanted[-1]):
                    return self._wanted[-1]
                self._wanted.pop()
        self._unstarted = [step for step in self.steps if step.state is NOT_STARTED and step.kind is not UNDO]
        # Both rules want such steps alone; a task may have tens of thousands of others.
        wanted = [step for step in self.steps if (step.has_undo or step.kind is CHILD) and is_wanted(step)]
        if any(step.set_aside_at is not None for step in wanted):
            # Once the last of a repair is undone, ordinals alone tell the order: it is not kept.
            self._wanted = None
            return _newest_of(wanted)
        self._is_wanted, self._wanted = is_wanted, sorted(wanted, key=_recency)
        return self._wanted[-1] if wanted else None


def plan_set_aside(steps: Sequence[Step], now: float) -> UndoPlan:
    """What a task does before it goes on from a repair: what the operator wanted undone first is undone."""
    aside = [step for step in steps if step.set_aside_at is not None and needs_undo(step)]
    if not aside:
        return Finished([])
    undos = {(step.run, step.key) for step in steps if step.kind is StepKind.UNDO}
    return _next(steps, [step for step in aside if (step.run, undo_key(step)) in undos], now)


def has_begun(steps: Sequence[Step]) -> bool:
    """Whether anything was undone, or may have been."""
    return any(step.kind is StepKind.UNDO for step in steps)


def _barrier(barriers: Sequence[Step], now: float) -> Barred | WaitFor | None:
    """What irreversible steps ask for that may have acted; one under way may still turn out not to have happened."""
    for step in barriers:
        if not _may_still_act(step, now):
            return Barred(step.key, f"{step.key} is irreversible: the task can only go forward past it")
    return WaitFor(min(step.complete_by or now for step in barriers)) if barriers else None


def _next(steps: Sequence[Step], wanted: list[Step], now: float) -> UndoPlan:
    if not wanted:
        return Finished(_in_doubt(steps))
    step = _newest_of(wanted)
    key = undo_key(step)
    undo = next((each for each in steps if each.key == key and each.run == step.run), None)
    return _begun(step, undo, now)


def _newest_of(wanted: list[Step]) -> Step:
    repaired = any(step.set_aside_at is not None for step in wanted)
    return max(wanted, key=_recency_of_repaired if repaired else _recency)


def _is_abandoned(step: Step) -> bool:
    return step.state is StepState.ABANDONED and needs_undo(step)


def _begun(step: Step, undo: Step | None, now: float) -> UndoPlan:
    """Begin the undo of ``step``, or wait for what is under way."""
    if undo is not None and undo.state is not StepState.NOT_STARTED:
        return _going_on(step, undo)
    if step.kind is StepKind.OPERATION and _may_still_act(step, now):
        return WaitFor(step.complete_by)
    return StartUndo(step)


def _going_on(step: Step, undo: Step) -> UndoPlan:
    if undo.state is StepState.FAILED:
        return Stuck(undo.key, f"the undo of {step.key} failed")
    return WaitFor(undo.repeat_at if undo.state is StepState.TO_REPEAT else None)


def _recency(step: Step) -> tuple[int, int, int]:
    """Outcomes that were not delivered count as newest; then the order in which they were."""
    if step.ordinal is None:
        return (step.run, 1, step.number)
    return (step.run, 0, step.ordinal)


def _recency_of_repaired(step: Step) -> tuple[int, int, float, int, int]:
    """A repair has ordinals given again: then instants tell what came later, and what it set aside came before it."""
    is_open = step.ordinal is None and step.set_aside_at is not None
    at = step.set_aside_at if is_open else step.finished_at
    return (step.run, int(at is None), at or 0.0, int(step.set_aside_at is None), step.ordinal or step.number)


def _may_still_act(step: Step, now: float) -> bool:
    """An attempt in flight may act until its complete-by; one that answered or was judged will not.

    A step is not finished from outside once undo began: that is not waited for.
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
        if (
            _was_done_by_hand(step)
            if step.state is COMPLETED
            else not step.has_undo and step.kind is OPERATION and is_in_doubt(step)
        )
    ]


def _was_done_by_hand(step: Step) -> bool:
    """Whether a completed step never ran: what a person did, only a person can undo."""
    return step.kind in UNDOABLE and never_ran(step)
