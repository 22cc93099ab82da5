"""ETags of tasks: an act with ``If-Match`` is refused if the task has changed since it was shown."""

from __future__ import annotations

from stepward.client import TaskStatus
from stepward.model.tasks.task_version import task_version

MOST_TAGS = 20


def etag_of(status: TaskStatus) -> str:
    """The ETag of a task: its version in double quotes."""
    return f'"{version_of(status)}"'


def version_of(status: TaskStatus) -> str:
    """The version of a task: it changes with everything that an operator decides by, and not with the owner or the
    complete-by."""
    return task_version(status, status.steps, status.steps_done)


def versions_in(if_match: str | None) -> tuple[str, ...]:
    """The versions that ``If-Match`` names; empty where any is accepted."""
    if if_match is None or if_match.strip() == "*":
        return ()
    return tuple(tag.strip().strip('"') for tag in if_match.split(",")[:MOST_TAGS])
