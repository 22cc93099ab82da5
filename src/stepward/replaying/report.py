"""The report of replays, workflow by workflow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from msgspec import Struct

from stepward.model.records import Step, Task
from stepward.model.states import TaskState
from stepward.workflow.registry import Registry
from stepward.workflow.replay.history_replay import Difference, first_difference

EXAMPLES = 5
MOST_FINDINGS = 1_000
"""Findings that are kept apart by their place; the code of one workflow gives a handful."""
ENDED = frozenset({TaskState.PROCESSED, TaskState.UNDONE, TaskState.CANCELLED})


class Finding(Struct):
    """One difference, and the tasks in whose replay it was found; ``message`` is about the first of them."""

    workflow: str
    version: str
    message: str
    stops: bool
    """Whether these tasks would stop at it; else it is a change that no running task notices."""
    number: int = 0
    tasks: list[str] = []
    """The ids of the first few."""


class ReplayReport:
    """The histories that were replayed, and what was found in them."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self.seen = 0
        """How many histories were given, those without code among them."""
        self.replayed: Counter[tuple[str, str]] = Counter()
        """How many histories of each workflow and version were replayed."""
        self._findings: dict[tuple[str, str, str], Finding] = {}

    @property
    def findings(self) -> list[Finding]:
        """The differences found; those at which tasks would stop come first."""
        return sorted(self._findings.values(), key=lambda found: (not found.stops, found.workflow, found.version))

    @property
    def is_fit(self) -> bool:
        """Whether the code fits every history that it may have to go on with."""
        return not any(found.stops for found in self._findings.values())

    def add(self, task: Task, steps: Iterable[Step]) -> None:
        """Replay one history."""
        self.seen += 1
        workflow = self._registry.workflows.get((task.workflow, task.version))
        if workflow is None:
            self._note(task, Difference(self._no_code(task), "no code", stops=task.state not in ENDED))
            return
        self.replayed[task.workflow, task.version] += 1
        found = first_difference(workflow, task, list(steps))
        if found is not None:
            self._note(task, found)

    def _no_code(self, task: Task) -> str:
        known = sorted(version for name, version in self._registry.workflows if name == task.workflow)
        return (
            f"expected workflow {task.workflow} in version {task.version}, found "
            f"{'versions ' + ', '.join(known) if known else 'no workflow of that name'}; "
            "keep its code until these tasks have ended"
        )

    def _note(self, task: Task, difference: Difference) -> None:
        key = (task.workflow, task.version, difference.place)
        if key not in self._findings and len(self._findings) >= MOST_FINDINGS:
            key = (task.workflow, task.version, "")
        found = self._findings.setdefault(
            key, Finding(task.workflow, task.version, difference.message, difference.stops, tasks=[])
        )
        found.stops |= difference.stops
        found.number += 1
        if len(found.tasks) < EXAMPLES:
            found.tasks.append(task.id)
