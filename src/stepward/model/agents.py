"""The state of Agents: the health of each instance, and the common state of all instances of one Agent."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from msgspec import Struct


class AgentHealth(Struct, frozen=True, kw_only=True):
    """The health of one Agent at one instance."""

    agent: str
    capacity: int
    in_flight: int = 0
    stuck: int = 0
    """Slots held by calls past their deadline that do not stop."""
    breaker: str = "closed"

    @property
    def room(self) -> int:
        """How many requests it can work on at once; stuck slots do not count."""
        return max(0, self.capacity - self.stuck)


class AgentStanding(Struct, frozen=True, kw_only=True):
    """The common state of all instances of an Agent."""

    name: str
    suspended_at: float | None = None
    suspended_by: str | None = None
    note: str | None = None
    """The operator's reason for the suspension."""
    opened_at: float | None = None
    """When its breaker opened; None: it is closed."""
    asks_at: float | None = None
    """Until then the open breaker blocks everything; after that one instance may probe."""
    probe_by: str | None = None
    """The instance that may probe, and until when."""

    @property
    def is_suspended(self) -> bool:
        """Whether an operator has suspended it."""
        return self.suspended_at is not None

    @property
    def is_open(self) -> bool:
        """Whether its breaker is open."""
        return self.opened_at is not None

    def may_probe(self, now: float) -> bool:
        """Whether one request may probe the open breaker; not while another probe runs."""
        return self.is_open and now >= (self.asks_at or 0.0)


class Report(Struct, frozen=True, kw_only=True):
    """The report that an instance sends with the renewal of its lease."""

    health: list[AgentHealth] = []
    """Of an Agent instance: one entry per Agent that it serves; of a Scheduler: one for its local steps."""
    demand: dict[str, int] = {}
    """Of a Scheduler: by Agent, the requests in flight and the steps that wait for room."""
    waits: dict[str, float] = {}
    """Of a Scheduler: by Agent, since when the oldest step has waited for room in its memory."""


NO_REPORTS: Mapping[str, Report] = MappingProxyType({})
