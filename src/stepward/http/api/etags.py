"""ETags of tasks: what a page showed is still so, or the act that it asks for is refused."""

from __future__ import annotations

from hashlib import sha256

import msgspec

from stepward.client import TaskStatus
from stepward.http.access.scoped_client import FoundTask
from stepward.http.problems import HttpRefusal

MOST_TAGS = 20


def etag_of(status: TaskStatus) -> str:
    """Changes with whatever an operator would decide by; who holds the task, and its complete-by, is not that."""
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
    """Raises HttpRefusal (412) if the task is not any more what ``If-Match`` says."""
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
