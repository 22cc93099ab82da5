"""The named crash points that a turn's commit passes, so that tests can end the process at each."""

from __future__ import annotations

from collections.abc import Sequence

from stepward.model.states import StepKind, StepState
from stepward.store.contract import Change


def crash_points(changes: Sequence[Change]) -> list[str]:
    """The protocol's writes in these changes: W1 submit, W3 start, W5 watch, W6 outcome, C1 C3 C5 undo,
    E1 event."""
    found = {name for change in changes for name in _points(change)}
    return sorted(found)


def _points(change: Change) -> list[str]:
    points = []
    undo = [step for step in change.inserts if step.kind is StepKind.UNDO]
    if change.born is not None:
        points.append("W1")
    if change.dispatches or any(step.state is StepState.RUNNING for step in (*change.inserts, *change.fills)):
        points.append("W3")
    if change.watches:
        points.append("W5")
    if change.finishes:
        points.append("W6")
    if undo:
        points.append("C1")
    if any(move.after is StepState.UNDONE for move in change.step_moves):
        points.append("C3")
    if change.move is not None and change.move.undo_to is not None and change.move.release:
        points.append("C5")
    if change.telling is not None:
        points.append("E1")
    return points
