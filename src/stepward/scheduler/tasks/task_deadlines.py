"""The complete-by of a task that a Scheduler holds, kept up to date by the commits of its turns."""

from __future__ import annotations

from stepward.model.complete_by import is_too_far, latest_end, nearest, of_claim, of_steps
from stepward.scheduler.tasks.active_task import Resident
from stepward.store.contract import Change


def held_until(resident: Resident, now: float) -> float:
    """The complete-by of a task that is worked on: that of its steps, or of a claim while none of them runs."""
    return of_steps(resident.open.values()) or of_claim(now)


def bound(resident: Resident, now: float) -> None:
    """Have this turn's change move the row's complete-by, where the row neither moves anyway nor says enough."""
    task, change = resident.task, resident.change
    if resident.leaving or (change is not None and change.move is not None):
        return
    if not resident.is_bound:
        begun, resident.is_bound = latest_end(resident.open.values()), True
    else:
        begun = None if change is None else _begun_until(resident, change)
    if change is not None and change.born is not None:
        task.complete_by = held_until(resident, now)
    elif not _is_told(task.complete_by, begun, resident, now):
        resident.changed().complete_by = of_steps(resident.open.values())


def _is_told(written: float | None, begun: float | None, resident: Resident, now: float) -> bool:
    """Whether the row says well enough when the steps end, those that begin now by ``begun``."""
    if begun is not None and (written is None or begun > written):
        return False
    if written is None or (begun is not None and begun >= nearest(written, now)):
        return True
    return not is_too_far(written, resident.open.values(), now)


def _begun_until(resident: Resident, change: Change) -> float | None:
    """The latest end of the steps that this turn begins: of thousands that run, the others were looked at before."""
    if not change.fills and not change.dispatches:
        return latest_end(change.inserts)
    started = (resident.open.get((start.run, start.key)) for start in change.dispatches)
    return latest_end([*change.inserts, *change.fills, *(step for step in started if step is not None)])
