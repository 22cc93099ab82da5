"""The alerts of early warnings: the details tell which two are the same, the message what was found at first."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from stepward import durations
from stepward.model.records import Alert, Instance
from stepward.store.contract import Standby
from stepward.store.contract.values.early_warnings import LateTask, QueueHead, WaitingTask

KINDS = (
    "task_late",
    "queue_old",
    "lease_late",
    "disk_low",
    "standby_behind",
    "key_missing",
    "schedule_late",
    "partition_down",
)
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


def old_heads(heads: Iterable[QueueHead], limit: float) -> list[Alert]:
    """One alert for each queue."""
    return [
        warning(
            "queue_old",
            f"queue {head.queue}: expected its messages to be taken within {durations.text(limit)}, found an older "
            "one; see whether its consumers run and keep up",
            queue=head.queue,
        )
        for head in heads
    ]


def old_tasks(tasks: Iterable[WaitingTask], limit: float) -> list[Alert]:
    """One alert for each workflow and version."""
    return [
        warning(
            "queue_old",
            f"workflow {task.workflow}@{task.version}: expected its tasks to start within {durations.text(limit)}, "
            f"found {task.id} waiting for longer; see whether its Schedulers keep up",
            workflow=task.workflow,
            version=task.version,
        )
        for task in tasks
    ]


def late_leases(instances: Iterable[Instance], share: float) -> list[Alert]:
    """One alert for each instance."""
    return [
        warning(
            "lease_late",
            f"instance {each.id} (process {each.pid} on {each.host}): expected its lease renewed at each third, found "
            f"{share:.0%} of it used; see whether its host is overloaded or its code blocks the event loop",
            instance=each.id,
        )
        for each in instances
    ]


def low_disks(folders: Iterable[tuple[Path, float]], least: float) -> list[Alert]:
    """One alert for each folder."""
    return [
        warning(
            "disk_low",
            f"disk of {folder}: expected {least:.1%} free, found {free:.1%}; make room before writing fails",
            folder=str(folder),
        )
        for folder, free in folders
    ]


def behind(standbys: Sequence[Standby], most: int) -> list[Alert]:
    """One alert for each standby."""
    return [
        warning(
            "standby_behind",
            f"standby {each.name}: expected at most {most:,} bytes behind the primary, found {each.behind:,}; see its "
            "load and its network",
            standby=each.name,
        )
        for each in standbys
        if each.behind > most
    ]


def partitions_down(down: Mapping[str, str]) -> list[Alert]:
    """One alert for each partition, by why it is down."""
    return [
        warning(
            "partition_down",
            f"partition {name}: expected its store in use, found its tasks stand still: {why}; the tasks of the other "
            "stores go on",
            partition=name,
        )
        for name, why in down.items()
    ]


def _named(ids: Sequence[str]) -> str:
    return ", ".join(ids[:MOST_NAMED]) + (", …" if len(ids) > MOST_NAMED else "")


def warning(kind: str, message: str, **details: str) -> Alert:
    """An early warning; two with the same details are one."""
    return Alert(kind=kind, message=message, details=msgspec.json.encode(details))
