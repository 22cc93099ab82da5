"""The runs of a task before the present one: what undo reaches of them, and what is deleted meanwhile.

The deletion itself is ``turn.trim_steps`` of each store.
"""

from __future__ import annotations

import msgspec

from stepward.model.records import History
from stepward.scheduler.tasks.active_task import ActiveTask
from stepward.store.contract import Trim
from stepward.workflow.definition import UndoRuns
from stepward.workflow.registry import Registry

KEPT = 1
"""Former runs that are kept whole, for operators to look at."""
TRIMS = 25
"""Changes of a run that delete a piece of what former runs left: as much as the longest history has, piece by piece."""
LOOKED_AT = 4
"""Runs before the last one that are looked at where undo reaches all: those before were seen to when they were over."""


class FormerRuns:
    """Applies each workflow's rule, ``undo="this run"`` or ``"all runs"``."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def in_reach(self, history: History) -> History:
        """The history without the runs that are settled."""
        task = history.task
        if task.run == 1 or self._reach(task.workflow, task.version) == "all runs":
            return history
        return msgspec.structs.replace(history, steps=[step for step in history.steps if step.run == task.run])

    def trim(self, active: ActiveTask) -> None:
        """Have this turn's change delete a piece of what former runs left, if the task goes forward."""
        task, change = active.task, active.change
        last = task.run - KEPT - 1
        if change is None or last < 1 or not active.trims or active.leaving or active.is_undoing:
            return
        active.trims -= 1
        reaches_all = self._reach(task.workflow, task.version) == "all runs"
        change.trim = Trim(max(1, last - LOOKED_AT) if reaches_all else 1, last, reaches_all)

    def _reach(self, workflow: str, version: str) -> UndoRuns:
        declared = self._registry.workflows.get((workflow, version))
        return "all runs" if declared is None else declared.undo
