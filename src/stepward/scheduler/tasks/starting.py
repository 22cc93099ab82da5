"""Begins attempts of steps for which there is room, and keeps what is to leave once the commit is through."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from stepward.model.records import Step
from stepward.scheduler.admission.windows import Windows
from stepward.scheduler.tasks import step_rows as rows
from stepward.scheduler.tasks.active_task import ActiveTask
from stepward.store.contract import Dispatch

Started = tuple[ActiveTask, Step]


class StepStarts:
    """Holds back what a turn starts until it is durable: intent before effect."""

    def __init__(self, windows: Windows) -> None:
        self._windows = windows
        self._started: list[Started] = []
        self._committing: list[Started] = []

    def ask(self, active: ActiveTask, step: Step, now: float) -> None:
        """Begin an attempt if there is room, or let the step wait for it in the backlog."""
        if self._windows.take(step, active.task.priority):
            self.launch(active, step, now)
        else:
            self._windows.wait(step, active.task.priority, active.task.fairness_key)

    def launch(self, active: ActiveTask, step: Step, now: float) -> None:
        """Begin the next attempt of a step that has a row and a place in its Agent's window."""
        rows.start(step, active.task, now)
        if (step.run, step.key) not in active.fresh:
            active.changed().dispatch(Dispatch(step.task, step.run, step.key, step.attempt, now, step.complete_by))
        self._started.append((active, step))

    def resume(self, active: ActiveTask, step: Step) -> None:
        """Have an attempt that runs already leave (again) after the commit."""
        self._started.append((active, step))

    @contextlib.contextmanager
    def committing(self) -> Iterator[list[Started]]:
        """What was started so far, while its commit is under way; what starts meanwhile waits for its own."""
        self._committing, self._started = self._started, []
        try:
            yield self._committing
        finally:
            self._committing = []

    def uncommitted(self) -> set[int]:
        """The identities of the steps that have not left yet, for they are not durable."""
        return {id(step) for _, step in (*self._started, *self._committing)}
