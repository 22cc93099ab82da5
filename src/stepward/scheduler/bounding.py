"""The complete-by of a task that a Scheduler holds, kept up to date by the commits of its turns."""

from __future__ import annotations

from collections.abc import Collection

from stepward.model.complete_by import is_too_far, latest_end, nearest, of_claim, of_steps
from stepward.model.records import Step
from stepward.scheduler.resident import Resident


def held_until(resident: Resident, now: float) -> float:
    """The complete-by of a task that is worked on: that of its steps, or of a claim while none of them runs."""
    return of_steps(resident.open.values()) or of_claim(now)


def bound(resident: Resident, now: float) -> None:
    """Have this turn's change move the row's complete-by, where the row neither moves anyway nor says enough."""
    task, change, steps = resident.task, resident.change, resident.open.values()
    if resident.leaving or (change is not None and change.move is not None):
        return
    begun = _begun_until(resident) if resident.is_bound else latest_end(steps)
    resident.is_bound = True
    if change is not None and change.born is not None:
        task.complete_by = held_until(resident, now)
    elif not _is_told(task.complete_by, begun, steps, now):
        resident.changed().complete_by = of_steps(steps)


def _is_told(written: float | None, begun: float | None, steps: Collection[Step], now: float) -> bool:
    """Whether the row says well enough when the steps end, those that begin now by ``begun``."""
    if begun is not None and (written is None or begun > written):
        return False
    if written is None or (begun is not None and begun >= nearest(written, now)):
        return True
    return not is_too_far(written, steps, now)


def _begun_until(resident: Resident) -> float | None:
    """The latest end of the steps that this turn begins: of thousands that run, the others were looked at before."""
    change = resident.change
    if change is None:
        return None
    if not change.fills and not change.dispatches:
        return latest_end(change.inserts)
    started = (resident.open.get((start.run, start.key)) for start in change.dispatches)
    return latest_end([*change.inserts, *change.fills, *(step for step in started if step is not None)])
