"""The complete-by of a task that a Scheduler holds, kept up to date by the commits of its turns."""

from __future__ import annotations

from stepward.model.complete_by import is_too_far, latest_end, nearest, of_claim, of_steps
from stepward.scheduler.tasks.active_task import ActiveTask
from stepward.store.contract import Change


def held_until(active: ActiveTask, now: float) -> float:
    """The complete-by of a task that is worked on: that of its steps, or of a claim while none of them runs."""
    return of_steps(active.open.values()) or of_claim(now)


def bound(active: ActiveTask, now: float) -> None:
    """Have this turn's change move the row's complete-by, where the row neither moves anyway nor says enough."""
    task, change = active.task, active.change
    if active.leaving or (change is not None and change.move is not None):
        return
    if not active.is_bound:
        begun, active.is_bound = latest_end(active.open.values()), True
    else:
        begun = None if change is None else _begun_until(active, change)
    if change is not None and change.born is not None:
        task.complete_by = held_until(active, now)
    elif not _is_told(task.complete_by, begun, active, now):
        active.changed().complete_by = of_steps(active.open.values())


def _is_told(written: float | None, begun: float | None, active: ActiveTask, now: float) -> bool:
    """Whether the row says well enough when the steps end, those that begin now by ``begun``."""
    if begun is not None and (written is None or begun > written):
        return False
    if written is None or (begun is not None and begun >= nearest(written, now)):
        return True
    return not is_too_far(written, active.open.values(), now)


def _begun_until(active: ActiveTask, change: Change) -> float | None:
    """The latest end of the steps that this turn begins: of thousands that run, the others were looked at before."""
    if not change.fills and not change.dispatches:
        return latest_end(change.inserts)
    started = (active.open.get((start.run, start.key)) for start in change.dispatches)
    return latest_end([*change.inserts, *change.fills, *(step for step in started if step is not None)])
