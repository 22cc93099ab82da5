"""Measures committed turns for metrics: one event per turn, and none while nothing measures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from stepward.clock import Clock
from stepward.events import Observers
from stepward.model.records import Task
from stepward.model.states import TASK_ENDS, StepState
from stepward.scheduler.tasks.active_task import ActiveTask
from stepward.store.contract import Change, Finish, TaskMove


class TurnMeter:
    """Emits ``turn.committed`` with what a turn's commit holds; seconds are those of the host's boot clock."""

    def __init__(self, observers: Observers, clock: Clock) -> None:
        self.observers = observers
        self._clock = clock
        self._began_at: float | None = None
        self._commit_began_at = 0.0

    def turn_begins(self) -> None:
        """A turn that is measured begins."""
        self._began_at = self._clock.boot()

    def commit_begins(self) -> None:
        """The commits of a turn that is measured begin."""
        self._commit_began_at = self._clock.boot()

    def committed(self, touched: Sequence[ActiveTask], missed: Mapping[str, str]) -> None:
        """The changes of these tasks are durable but for those that ``missed``."""
        if self._began_at is None:
            return  # Measuring began within the turn.
        now = self._clock.boot()
        changes = [a.change for a in touched if a.change is not None and a.task.uid not in missed]
        if not changes:
            return
        self.observers.measure(
            "turn.committed",
            seconds=now - self._began_at,
            commit_seconds=now - self._commit_began_at,
            tasks=len(changes),
            rows=sum(map(_rows, changes)),
            submitted=sum(len(change.begun) for change in changes),
            missed=len(missed),
            started=[start for change in changes for start in _started(change)],
            finished=[end for change in changes for end in _finished(change)],
            gave_up=[each for change in changes for each in change.watches if each.error is not None],
            ended=list(_ended(touched, missed)),
        )


def _rows(change: Change) -> int:
    return 1 + len(change.inserts) + len(change.fills) + len(change.dispatches) + len(change.finishes)


def _started(change: Change) -> Iterator[tuple[tuple[str, int, str], int, float]]:
    """Step, attempt and instant of each attempt that begins."""
    for step in (*change.inserts, *change.fills):
        if step.state is StepState.RUNNING:
            yield (step.task, step.run, step.key), step.attempt, step.started_at or 0.0
    for each in change.dispatches:
        yield (each.task, each.run, each.key), each.attempt, each.started_at


def _finished(change: Change) -> Iterator[tuple[tuple[str, int, str], Finish]]:
    """Step and outcome of each attempt that ended."""
    for each in change.finishes:
        yield (each.task, each.run, each.key), each


def _ended(touched: Sequence[ActiveTask], missed: Mapping[str, str]) -> Iterator[tuple[Task, TaskMove]]:
    """Each task that ended, and its end."""
    for active in touched:
        move = None if active.change is None else active.change.move
        if move is not None and move.after in TASK_ENDS and active.task.uid not in missed:
            yield active.task, move
