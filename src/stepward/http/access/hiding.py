"""What a principal that may not see payloads is shown instead: nothing of what a person or a service has written."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from stepward.client import StepRecord, TaskStatus

SHOWN_OF_ERRORS = frozenset({"type", "step", "maybe_done", "in_doubt", "kind", "attempt", "expired"})
"""What of an error is no payload: its message, its data and its traceback may quote one."""


def hidden_status(status: TaskStatus) -> TaskStatus:
    """The status without payloads."""
    return replace(status, error=hidden_error(status.error))


def hidden_step(step: StepRecord) -> StepRecord:
    """The step without payloads."""
    return replace(step, input=None, output=None, progress=None, error=hidden_error(step.error))


def hidden_error(error: Any) -> Any:
    """The error without what may quote a payload."""
    if not isinstance(error, dict):
        return None
    return {name: value for name, value in error.items() if name in SHOWN_OF_ERRORS}
