"""In development each finished task is replayed at once, to find workflows that are not deterministic."""

from __future__ import annotations

from stepward.events import Observers
from stepward.model.records import Step, Task
from stepward.model.states import StepKind, TaskState
from stepward.scheduler.tasks.active_task import ActiveTask, StepId
from stepward.store.contract import Change
from stepward.workflow.registry import Registry
from stepward.workflow.replay.history_replay import verify


class ReplayCheck:
    """Keeps the record of every task in memory, and replays it at the end; switched off it keeps nothing."""

    def __init__(self, registry: Registry, observers: Observers, *, enabled: bool) -> None:
        self._registry = registry
        self._observers = observers
        self.is_enabled = enabled
        self._records: dict[str, dict[StepId, Step]] = {}

    def begin(self, task: Task, steps: list[Step]) -> None:
        """A task came into memory with these steps."""
        if self.is_enabled:
            self._records[task.uid] = {(step.run, step.key): step for step in steps}

    def note(self, change: Change) -> None:
        """A change was committed."""
        record = self._records.get(change.task)
        if record is None:
            return
        record.update({(step.run, step.key): step for step in (*change.inserts, *change.fills)})
        for finish in change.finishes:
            step = record.get((finish.run, finish.key))
            if step is not None:
                step.state, step.ordinal, step.finished_at = finish.state, finish.ordinal, finish.finished_at
                step.output, step.error, step.asked = finish.output, finish.error, finish.asked
        for deliver in change.delivers:
            step = record.get((deliver.run, deliver.key))
            if step is not None:
                step.ordinal, step.asked = deliver.ordinal, deliver.asked

    def end(self, active: ActiveTask) -> None:
        """The task leaves memory; if it was processed, its record must replay to the same end."""
        record = self._records.pop(active.task.uid, None)
        task = active.task
        workflow = self._registry.workflows.get((task.workflow, task.version))
        if record is None or workflow is None or task.state is not TaskState.PROCESSED:
            return
        steps = [step for step in record.values() if step.run == task.run and step.kind is not StepKind.UNDO]
        difference = verify(workflow, task, sorted(steps, key=lambda step: step.number))
        if difference is not None:
            self._observers.emit("task.not_deterministic", task=task.id, difference=difference)
