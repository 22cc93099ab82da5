"""What is known of Agents: how each instance is doing, and how all instances of one stand together."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from msgspec import Struct


class AgentHealth(Struct, frozen=True, kw_only=True):
    """What an instance says of one Agent that it serves."""

    agent: str
    capacity: int
    in_flight: int = 0
    stuck: int = 0
    """Slots lost to calls that went past their deadline and do not stop."""
    breaker: str = "closed"

    @property
    def room(self) -> int:
        """How many requests it can work on at once: a stuck slot is no room."""
        return max(0, self.capacity - self.stuck)


class AgentStanding(Struct, frozen=True, kw_only=True):
    """How all instances of an Agent stand together."""

    name: str
    suspended_at: float | None = None
    suspended_by: str | None = None
    note: str | None = None
    """Why it was suspended, in the operator's words."""
    opened_at: float | None = None
    """Since when its breaker is open; None: it is closed."""
    asks_at: float | None = None
    """Until then nothing passes the open breaker; after that one instance may probe."""
    probe_by: str | None = None
    """The instance that probes, up to ``asks_at``."""

    @property
    def is_suspended(self) -> bool:
        """Whether an operator has it given no room."""
        return self.suspended_at is not None

    @property
    def is_open(self) -> bool:
        """Whether its breaker is open."""
        return self.opened_at is not None

    def may_probe(self, now: float) -> bool:
        """Whether one request may go through the open breaker to find out; not while another one still does."""
        return self.is_open and now >= (self.asks_at or 0.0)


class Report(Struct, frozen=True, kw_only=True):
    """What an instance says of itself with the renewal of its lease."""

    health: list[AgentHealth] = []
    """Of an Agent instance: a line for each Agent that it serves; of a Scheduler: one for its local steps."""
    demand: dict[str, int] = {}
    """Of a Scheduler: by Agent, the requests that are out and the steps that wait for room."""


NO_REPORTS: Mapping[str, Report] = MappingProxyType({})
