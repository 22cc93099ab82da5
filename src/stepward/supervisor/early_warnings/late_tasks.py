"""Warns of tasks that have used most of the time until their deadline."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from stepward.model.records import Alert
from stepward.store.contract.values.early_warnings import LateTask
from stepward.supervisor.early_warnings.warning import warning

MOST_NAMED = 5
"""Most tasks that one message names."""


def late_tasks(tasks: Iterable[LateTask], share: float) -> list[Alert]:
    """One alert for each workflow and version, however many of its tasks are late."""
    ids: dict[tuple[str, str], list[str]] = defaultdict(list)
    for task in tasks:
        ids[task.workflow, task.version].append(task.id)
    return [
        warning(
            "task_late",
            f"workflow {workflow}@{version}: expected its tasks to end in time, found {len(found):,} that have used "
            f"{share:.0%} of the time until their deadline: {_named(found)}; see what they wait for",
            workflow=workflow,
            version=version,
        )
        for (workflow, version), found in ids.items()
    ]


def _named(ids: Sequence[str]) -> str:
    return ", ".join(ids[:MOST_NAMED]) + (", …" if len(ids) > MOST_NAMED else "")
