"""The fit of this program's code to the tasks in the store that have not ended, and the versions without any."""

from __future__ import annotations

from collections.abc import Iterable

from stepward.client import Client
from stepward.model.records import Task
from stepward.replaying.histories import histories_of
from stepward.replaying.report import ReplayReport
from stepward.workflow.registry import Registry

UNENDED = "workflow = '{}' and version = '{}' and state != 'processed' and state != 'undone' and state != 'cancelled'"


async def misfits(client: Client, registry: Registry, tasks: Iterable[Task]) -> list[str]:
    """A line for each place at which some of the tasks would stop, because this code does not fit their record.

    Tasks that this code does not serve, and those that are being undone, are left out.
    """
    report = ReplayReport(registry)
    served = [task.id for task in tasks if (task.workflow, task.version) in registry.workflows and task.undo_to is None]
    async for task, steps in histories_of(client, served):
        report.add(task, steps)
    return [
        f"{found.workflow}@{found.version}: expected code that fits the record of its tasks, found that "
        f"{found.number:,} would stop, {', '.join(found.tasks)} among them: {found.message}"
        for found in report.findings
        if found.stops
    ]


async def versions(client: Client, registry: Registry) -> list[str]:
    """A line for each version of a workflow that is not its newest: the tasks that have not ended, or none."""
    lines = []
    for name, version in sorted(registry.workflows):
        newest = registry.newest.get(name)
        if newest is None or newest.version == version:
            continue
        count = await client.count(where=UNENDED.format(name, version))
        lines.append(
            f"{name}@{version}: {'' if count.is_exact else 'about '}{count.number:,} of its tasks have not ended"
            if count.number
            else f"{name}@{version}: all of its tasks have ended; its code may be removed"
        )
    return lines
