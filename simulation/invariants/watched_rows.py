"""The rows that the simulation watches: the columns of each table that invariants look at."""

from __future__ import annotations

from typing import Any, NamedTuple

from stepward.model.effects import SET_ASIDE
from stepward.model.messages.requests import idempotency_key


class TaskRow(NamedTuple):
    """The watched columns of a task's row."""

    uid: str
    id: str
    workflow: str
    version: str
    state: str
    priority: int
    fairness_key: str | None
    run: int
    input: bytes
    output: bytes | None
    error: bytes | None
    locked_by: str | None
    wake_at: float | None
    waits_for: str | None
    undo_to: str | None
    inbox: int
    parent: str | None
    reply_to: str | None
    events: int


class StepRow(NamedTuple):
    """The watched columns of a step's row."""

    task: str
    run: int
    key: str
    number: int
    name: str
    kind: str
    state: str
    attempt: int
    complete_by: float | None
    started_at: float | None
    ordinal: int | None
    output: bytes | None
    has_undo: int
    in_doubt: int
    generation: int
    deferred_at: float | None
    set_aside_at: float | None
    error: bytes | None

    @property
    def asked_as(self) -> str:
        """The key under which the workflow asked for it; what is set aside has another."""
        return self.key if self.set_aside_at is None else self.key.rpartition(SET_ASIDE)[0]

    @property
    def acts_under(self) -> str:
        """The idempotency key that its attempts carry."""
        return idempotency_key(self.task, self.run, self.asked_as, self.generation)


class InboxEntry(NamedTuple):
    """The watched columns of an inbox row."""

    number: int
    task: str
    kind: str
    name: str
    body: bytes


class InstanceRow(NamedTuple):
    """The watched columns of an instance."""

    id: str
    role: str
    alive: int


class AlertRow(NamedTuple):
    """The watched columns of an alert."""

    number: int
    kind: str
    task: str | None
    step: str | None
    message: str
    details: bytes


class AuditRow(NamedTuple):
    """The watched columns of an audited act."""

    number: int
    actor: str
    act: str
    task: str | None
    step: str | None
    details: bytes


class MessageRow(NamedTuple):
    """The watched columns of a message in a queue."""

    token: int
    queue: str
    body: bytes
    tries: int


class LetterRow(NamedTuple):
    """The watched columns of a dead letter."""

    number: int
    queue: str
    body: bytes
    reason: str


class AgentRow(NamedTuple):
    """The watched columns of an Agent."""

    name: str
    suspended_at: float | None
    opened_at: float | None
    asks_at: float | None
    probe_by: str | None


class UpdateEntry(NamedTuple):
    """The watched columns of an update that was asked for."""

    task: str
    id: str
    name: str
    state: str
    answer: bytes | None


class LiveValueRow(NamedTuple):
    """The watched columns of a value that a task publishes."""

    task: str
    name: str
    value: bytes


class StreamValueRow(NamedTuple):
    """The watched columns of a value of a stream."""

    task: str
    name: str
    position: int
    value: bytes


class OrderRow(NamedTuple):
    """What the application's submission writes beside the task."""

    id: str


TABLES: dict[str, type[Any]] = {
    "task": TaskRow,
    "step": StepRow,
    "inbox": InboxEntry,
    "instance": InstanceRow,
    "alert": AlertRow,
    "audit": AuditRow,
    "message": MessageRow,
    "dead_letter": LetterRow,
    "agent": AgentRow,
    "update_request": UpdateEntry,
    "order": OrderRow,
    "live_value": LiveValueRow,
    "stream_value": StreamValueRow,
}
APPLICATIONS = frozenset({"order"})
"""Tables that are not Stepward's own."""
