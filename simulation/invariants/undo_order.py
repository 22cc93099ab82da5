"""S13 on every commit: undo goes backwards, so what came after a step is undone before it."""

from __future__ import annotations

from collections.abc import Callable

from simulation.invariants.history import Mirror
from simulation.invariants.watched_rows import StepRow


class UndoOrder:
    """In which commit each step first ran and was received, and whether undos begin in the opposite order."""

    def __init__(self, mirror: Mirror, broken: Callable[[str, str], None]) -> None:
        self._mirror = mirror
        self._broken = broken
        self._dispatched: dict[tuple[str, int, str], int] = {}
        self._told: dict[tuple[str, int, str], int] = {}
        """In which commit a step first ran, and the workflow received its outcome."""
        self._commits = 0
        self._undos_begun: list[StepRow] = []

    def begin(self) -> None:
        """Another transaction is checked."""
        self._commits += 1

    def committed(self) -> None:
        """All changes of the transaction are known."""
        while self._undos_begun:
            self._check_order(self._undos_begun.pop())

    def started(self, after: StepRow) -> None:
        """An attempt of a step begins."""
        self._dispatched.setdefault(after[:3], self._commits)
        if after.kind == "undo":
            self._undos_begun.append(after)

    def removed(self, before: StepRow) -> None:
        """A step is deleted."""
        self._dispatched.pop(before[:3], None)

    def note_told(self, after: StepRow) -> None:
        """A step was written: the workflow has received its outcome, or a repair took that back."""
        if after.ordinal is None:
            self._told.pop(after[:3], None)
        else:
            self._told.setdefault(after[:3], self._commits)

    def _check_order(self, undo: StepRow) -> None:
        """S13: what came after this step is undone before it."""
        original = (undo.task, undo.run, undo.key.removesuffix("~undo"))
        for step in self._mirror.steps_of(undo.task) if undo.attempt == 1 else ():
            counts = step.has_undo and step.kind == "operation" and step[:3] != original and step.state == "completed"
            if counts and self._dispatched.get(step[:3]) and self._is_later(step, undo, self._told.get(original)):
                self._broken("S13", f"{undo.task}: {undo.key} began before {step.key}, which came later, was undone")

    def _is_later(self, step: StepRow, undo: StepRow, told: int | None) -> bool:
        """Whether it is of a later run, began after the workflow received what is undone, or was never received itself.

        A step that is finished from outside is done before the workflow receives its outcome: parallel steps run
        meanwhile.
        """
        task = self._mirror.tasks.get(undo.task)
        is_undoing = task is not None and task.undo_to is not None
        if step.run != undo.run or told is None:
            return is_undoing and step.run > undo.run
        return self._dispatched[step[:3]] >= told or (is_undoing and self._is_untold(step))

    def _is_untold(self, step: StepRow) -> bool:
        """A repair takes deliveries back: then a step may be undelivered, and yet not the newest."""
        repaired = any(each.set_aside_at is not None for each in self._mirror.steps_of(step.task))
        return step.ordinal is None and not repaired
