"""Copies of records without payloads, for principals that may not see any text of a person or a service."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec.structs import replace

from stepward.client import StepRecord, TaskStatus
from stepward.model.records import Alert, Audit
from stepward.model.schedule import Schedule
from stepward.payload import readable

SHOWN_OF_ERRORS = frozenset({"type", "step", "maybe_done", "in_doubt", "attempt", "expired"})
"""Fields of an error that hold no payload; its message, data and traceback may quote one."""
SHOWN_OF_ACTS = frozenset(
    {
        "doubt",
        "later",
        "signal",
        "update",
        "fork",
        "origin",
        "undo_first",
        "failed_children",
        "generation",
        "set_aside",
        "batch",
        "priority",
    }
)
"""Fields of an act's details that hold no payload; edited inputs, results and notes may."""
EMPTY = b"{}"


def hidden_status(status: TaskStatus) -> TaskStatus:
    """The status without payloads."""
    return replace(status, error=hidden_error(status.error))


def hidden_step(step: StepRecord) -> StepRecord:
    """The step without payloads."""
    return replace(step, input=None, output=None, progress=None, error=hidden_error(step.error))


def hidden_error(error: Any) -> Any:
    """The error without what may quote a payload."""
    return (
        {name: value for name, value in error.items() if name in SHOWN_OF_ERRORS} if isinstance(error, dict) else None
    )


def hidden_alert(alert: Alert) -> Alert:
    """The alert without what may quote a payload."""
    return replace(alert, message=alert.kind.replace("_", " "), details=EMPTY)


def hidden_audit(act: Audit) -> Audit:
    """The act without its edited inputs, results and notes."""
    details = readable(act.details)
    shown = (
        {name: value for name, value in details.items() if name in SHOWN_OF_ACTS} if isinstance(details, dict) else {}
    )
    return replace(act, details=msgspec.json.encode(shown))


def hidden_schedule(schedule: Schedule) -> Schedule:
    """The recurring task without its arguments."""
    return replace(schedule, input=b"null")
