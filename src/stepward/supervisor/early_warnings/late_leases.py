"""Warns of instances that renew their leases late."""

from __future__ import annotations

from collections.abc import Iterable

from stepward.model.records import Alert, Instance
from stepward.supervisor.early_warnings.warning import warning


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
