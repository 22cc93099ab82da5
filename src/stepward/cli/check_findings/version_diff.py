"""Differences between live instances, the store and this program's code."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from stepward.model.alerts.mixed_code import mixed
from stepward.model.records import Instance, Role, WorkflowRecord

PARTS = ("schema", "policy", "complete_seconds", "plan")


def between_schedulers(instances: Sequence[Instance]) -> list[str]:
    """A line for each workflow of which live Schedulers serve different versions, or one version differently."""
    lines = []
    for name, served in sorted(_served(instances).items()):
        if len(set(served.values())) > 1:
            found = "; ".join(f"{where} serves {', '.join(versions)}" for where, versions in served.items())
            lines.append(f"workflow {name}: expected all live Schedulers to serve the same versions, found {found}")
    return lines + [each.message for each in mixed(instances)]


def from_registered(declared: Iterable[WorkflowRecord], registered: Iterable[WorkflowRecord]) -> list[str]:
    """A line for each workflow that this code declares differently from the registered one of the same version."""
    known = {(record.name, record.version): record for record in registered}
    lines = []
    for record in declared:
        other = known.get((record.name, record.version), record)
        parts = [part for part in PARTS if getattr(record, part) != getattr(other, part)]
        if parts:
            lines.append(
                f"workflow {record.name}@{record.version}: expected what the store has registered, found another "
                f"{' and '.join(parts)} in this code; restart the Schedulers, or give it a new version"
            )
    return lines


def _served(instances: Sequence[Instance]) -> dict[str, dict[str, tuple[str, ...]]]:
    """By workflow and place: the versions."""
    found: dict[str, dict[str, tuple[str, ...]]] = {}
    for instance in instances:
        if instance.alive and instance.role is Role.SCHEDULER:
            where = f"{instance.host}:{instance.pid}"
            for entry in sorted(instance.serves):
                name, _, version = entry.rpartition("@")
                versions = found.setdefault(name, {})
                versions[where] = (*versions.get(where, ()), version)
    return found
