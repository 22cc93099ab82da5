"""Gauges of a store, by one read whose cost is bounded."""

from __future__ import annotations

from msgspec import Struct, field

from stepward.model.agents import AgentStanding
from stepward.model.records import Instance


class StoreGauges(Struct, frozen=True, kw_only=True):
    """The gauges at one instant; a count that reached the limit of the read equals the limit."""

    now: float
    """The instant, by the store's clock."""
    tasks: dict[str, int] = field(default_factory=dict)
    """By state, tasks that have not ended, and those in error."""
    oldest_tasks: dict[str, float] = field(default_factory=dict)
    """By state, seconds since the oldest of them was created; a state without tasks is left out."""
    alerts: dict[str, int] = field(default_factory=dict)
    """By kind, alerts that were not acknowledged."""
    dead_letters: int = 0
    expired_steps: int = 0
    """Running steps past their complete-by that wait for the Supervisor."""
    queues: dict[str, int] = field(default_factory=dict)
    """By queue of the store, its messages; at most 100 queues."""
    queue_ages: dict[str, float] = field(default_factory=dict)
    """By queue of applications, seconds since its next message was posted, if the message says when."""
    oldest_requests: dict[str, float] = field(default_factory=dict)
    """By Agent, seconds since the start of the oldest of 10,000 attempts without an outcome."""
    has_leader: bool = False
    """Whether a Supervisor leads."""
    schema_version: int = 0
    instances: list[Instance] = field(default_factory=list)
    """Live instances, and those that died within the hour."""
    standings: list[AgentStanding] = field(default_factory=list)
