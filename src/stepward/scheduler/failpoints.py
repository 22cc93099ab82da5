"""The named crash points that a turn's commit passes, so that tests can end the process at each."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from stepward.model.states import StepKind, StepState
from stepward.store.contract import Change


def crash_points(changes: Sequence[Change]) -> list[str]:
    """The names of what these changes write, always in the same order."""
    return [name for name, writes in WRITES.items() if any(map(writes, changes))]


def _starts_undo(change: Change) -> bool:
    return any(step.kind is StepKind.UNDO for step in change.inserts)


def _finishes_undo(change: Change) -> bool:
    return any(move.after is StepState.UNDONE for move in change.step_moves)


def _ends_undo(change: Change) -> bool:
    return change.move is not None and change.move.undo_to is not None and change.move.release


def _starts(change: Change) -> bool:
    begun = (*change.inserts, *change.fills)
    return bool(change.dispatches) or any(step.state is StepState.RUNNING for step in begun)


WRITES: dict[str, Callable[[Change], bool]] = {
    "turn.start_undo": _starts_undo,
    "turn.finish_undo": _finishes_undo,
    "turn.end_undo": _ends_undo,
    "turn.status_events": lambda change: change.status_events is not None,
    "turn.submit": lambda change: change.born is not None,
    "turn.start": _starts,
    "turn.requests": lambda change: bool(change.requests),
    "turn.watch": lambda change: bool(change.watches),
    "turn.finish": lambda change: bool(change.finishes),
}
"""What a change may write of a task, by the name of the crash point around its commit."""
