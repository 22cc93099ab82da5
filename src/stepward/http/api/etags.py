"""ETags of tasks: an act with ``If-Match`` is refused if the task has changed since it was shown."""

from __future__ import annotations

from hashlib import sha256

import msgspec

from stepward.client import TaskStatus
from stepward.http.access.scoped_client import FoundTask
from stepward.http.problems import HttpRefusal

MOST_TAGS = 20


def etag_of(status: TaskStatus) -> str:
    """The ETag of a task: it changes with everything that an operator decides by, and not with the owner or the
    complete-by."""
    known = (
        status.uid,
        status.state,
        status.run,
        status.failure_count,
        status.waits_for,
        status.steps,
        status.steps_done,
        status.finished_at,
        status.deadline,
    )
    return f'"{sha256(msgspec.json.encode(known)).hexdigest()[:32]}"'


async def check_unchanged(found: FoundTask, if_match: str | None) -> None:
    """Raises HttpRefusal (412) if the task's ETag is not among those of ``If-Match``."""
    if if_match is None or if_match.strip() == "*":
        return
    etag = etag_of(await found.handle.status())
    if etag not in [tag.strip() for tag in if_match.split(",")[:MOST_TAGS]]:
        raise HttpRefusal(
            412,
            f"If-Match: expected {etag}, found another: the task has changed meanwhile; look at it again",
            field="If-Match",
            headers={"ETag": etag},
        )
