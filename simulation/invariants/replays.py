"""Replays of records at rest: does the right code fit one, and does any code fit that was ever deployed (S18)."""

from __future__ import annotations

import json
from collections.abc import Sequence

from simulation.application.deployments import worlds_of
from simulation.environment.world import World
from simulation.trace import FLAG_TURNED
from stepward.model.records import Step, Task
from stepward.model.states import StepKind
from stepward.workflow.decisions import Diverged
from stepward.workflow.execution import Execution
from stepward.workflow.replay.history_replay import verify

OTHER_INPUT = "the record holds the input"


class Replays:
    """Runs workflow code of all deployments on what is recorded; nothing comes of it."""

    def __init__(self, world: World) -> None:
        self._world = world

    def fits(self, task: Task, steps: Sequence[Step]) -> bool:
        """Whether the right code can go on with the record."""
        workflow = self._world.registry.workflows.get((task.workflow, task.version))
        if workflow is None:
            return False
        execution = Execution(workflow, task, _own(task, steps))
        execution.start()
        ended = execution.ended
        execution.discard()
        return not isinstance(ended, Diverged)

    def difference(self, task: Task, steps: Sequence[Step]) -> str | None:
        """What differs under the right code, if the record of a task that ended fits no code that was deployed."""
        first: str | None = None
        for deployment, flags in worlds_of(json.loads(task.input)):
            workflow = self._world.registry_of(deployment).workflows.get((task.workflow, task.version))
            self._world.flags = flags
            found = None if workflow is None else verify(workflow, task, _own(task, steps))
            if found is None or (self._was_other and OTHER_INPUT in found):
                return None
            first = first or found
            if not flags and not self._was_other:
                break
        return first

    @property
    def _was_other(self) -> bool:
        """Whether other code was deployed, or read other flags; what that gave as an argument is no divergence."""
        return not {"wrong deploy", FLAG_TURNED}.isdisjoint(self._world.trace.faults)


def _own(task: Task, steps: Sequence[Step]) -> list[Step]:
    """What a replay of the task's last run meets."""
    live = (step for step in steps if step.run == task.run and step.set_aside_at is None)
    return [step for step in live if step.kind is not StepKind.UNDO]
