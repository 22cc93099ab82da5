"""The history of a task in the order of time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from msgspec import Struct

from stepward.client import StepRecord, TaskStatus
from stepward.model.records import Audit, Step


class HistoryEntry(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One event of the history."""

    at: datetime
    what: str
    """``created``, ``started``, ``ended``, ``step started``, ``step ended``, or the act of an audit."""
    step: str | None = None
    state: str | None = None
    """The state in which the task or the step ended."""
    attempt: int | None = None
    actor: str | None = None


def history_of(status: TaskStatus, steps: Sequence[StepRecord | Step], acts: Sequence[Audit]) -> list[HistoryEntry]:
    """All recorded events of a task, oldest first; of a step that was repeated, those of the last attempt."""
    created = HistoryEntry(at=_instant(status.created_at), what="created")
    found: list[HistoryEntry] = []
    if status.started_at is not None:
        found.append(HistoryEntry(at=_instant(status.started_at), what="started"))
    for step in steps:
        if step.started_at is not None:
            found.append(
                HistoryEntry(at=_instant(step.started_at), what="step started", step=step.key, attempt=step.attempt)
            )
        if step.finished_at is not None:
            found.append(
                HistoryEntry(at=_instant(step.finished_at), what="step ended", step=step.key, state=step.state)
            )
    found += [HistoryEntry(at=_instant(act.at), what=act.act, step=act.step, actor=act.actor) for act in acts]
    if status.finished_at is not None:
        found.append(HistoryEntry(at=_instant(status.finished_at), what="ended", state=status.state))
    # A clock that was adjusted meanwhile makes nothing older than the task.
    return [created, *sorted(found, key=lambda entry: entry.at)]


def _instant(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
