"""A task whose workflow code does not fit its record: it waits for code that fits, and is tried again by itself."""

from __future__ import annotations

from typing import Any

from stepward.model import failures
from stepward.model.records import Task
from stepward.payload import encode

TYPE = "NonDeterministic"
"""The type of the task's error while it waits."""
KIND = "non_deterministic"
"""The kind of the alert."""
WAITS_FOR = f"code that fits its record ({KIND})"
FIRST_RETRY = 15.0
"""Seconds until the first retry; each further one waits twice as long."""
LONGEST_RETRY = 600.0


def is_stopped(task: Task) -> bool:
    """Whether the code that was tried last did not fit the record."""
    return task.error is not None and _error(task).get("type") == TYPE


def tries(task: Task) -> int:
    """How often code that did not fit was tried."""
    count = _error(task).get("tries") if is_stopped(task) else None
    return count if isinstance(count, int) else 0


def retry_after(tries: int) -> float:
    """Seconds until the next try."""
    return min(LONGEST_RETRY, FIRST_RETRY * 2.0 ** min(max(0, tries - 1), 30))


def stopped_error(message: str, place: str, tries: int) -> bytes:
    """The task's error while it waits."""
    return encode({"message": message, "type": TYPE, "place": place, "tries": tries}, "error")


def place_of(task: Task) -> bytes | None:
    """The details of the alert for all tasks that stopped at the same place; None if the task has not stopped."""
    place = _error(task).get("place") if is_stopped(task) else None
    return alert_details(task, place) if isinstance(place, str) else None


def alert_details(task: Task, place: str) -> bytes:
    """The details of the alert for a place in the code: all tasks that stop there share it."""
    return encode({"workflow": task.workflow, "version": task.version, "place": place}, "alert")


def _error(task: Task) -> dict[str, Any]:
    return failures.read(task.error)
