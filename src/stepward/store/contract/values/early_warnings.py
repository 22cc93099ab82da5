"""Signs of trouble that the leader reads from the store before anything fails."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct


class LateTask(Struct, frozen=True):
    """A live task that has used a share of the time until its deadline."""

    workflow: str
    version: str
    id: str


class QueueHead(Struct, frozen=True):
    """The oldest message of a queue that no consumer has taken."""

    queue: str
    token: int


class WaitingTask(Struct, frozen=True):
    """The task of a workflow that is claimed next, and has never been started."""

    workflow: str
    version: str
    id: str
    created_at: float


class WarningFigures(Struct, frozen=True, kw_only=True):
    """What one look at tasks and queues reads; each list is bounded."""

    late_tasks: Sequence[LateTask] = ()
    heads: Sequence[QueueHead] = ()
    newest_token: int = 0
    """The token of the newest message in any queue; 0 if there is none."""
    waiting: Sequence[WaitingTask] = ()


class KeptWarnings(Struct, frozen=True):
    """How many alerts were raised, and how many resolved."""

    raised: int = 0
    resolved: int = 0
