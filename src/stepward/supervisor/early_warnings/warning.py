"""An early warning as an alert: its details say which two are the same, its message what was found at first."""

from __future__ import annotations

import msgspec

from stepward.model.records import Alert

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
"""The kinds of the alerts of early warnings."""


def warning(kind: str, message: str, **details: str) -> Alert:
    """An early warning; two with the same details are one."""
    return Alert(kind=kind, message=message, details=msgspec.json.encode(details))
