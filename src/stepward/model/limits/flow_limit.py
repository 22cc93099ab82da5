"""Limits as they are stored: what code declares, and what an operator has set in its place."""

from __future__ import annotations

from msgspec import UNSET, Struct, UnsetType

from stepward.model.limits.rate import RateLimit

AGENT, WORKFLOW = "agent:", "workflow:"
"""How the names of limits begin: of an Agent's calls, and of a workflow's tasks."""
WAITS_FOR = "limit"
"""What a task waits for that has no permit."""
MOST_CONCURRENCY = 100_000
"""Most calls, or tasks, at once that a limit may name."""


class FlowLimit(Struct, frozen=True, kw_only=True):
    """A limit; ``set_at`` decides whether what is set or what is declared is in force."""

    name: str
    """``agent:`` or ``workflow:``, and the name of an Agent or a workflow."""
    per_key: bool = False
    declared_concurrency: int | None = None
    declared_starts: int | None = None
    declared_seconds: float | None = None
    concurrency: int | None = None
    starts: int | None = None
    seconds: float | None = None
    set_at: float | None = None
    set_by: str | None = None
    note: str | None = None

    @property
    def cap(self) -> int | None:
        """How many may run at once; None: any number."""
        return self.declared_concurrency if self.set_at is None else self.concurrency

    @property
    def rate(self) -> RateLimit | None:
        """How many may start within a time; None: any number."""
        return self.declared_rate if self.set_at is None else _rate(self.starts, self.seconds)

    @property
    def declared_rate(self) -> RateLimit | None:
        """The rate that code declares."""
        return _rate(self.declared_starts, self.declared_seconds)

    @property
    def is_declared(self) -> bool:
        """Whether code declares any of it."""
        return self.declared_concurrency is not None or self.declared_rate is not None

    @property
    def is_bounding(self) -> bool:
        """Whether it bounds anything now."""
        return self.cap is not None or self.rate is not None


class SetLimit(Struct, frozen=True, kw_only=True):
    """What an operator sets in place of what is declared; None: no bound, UNSET: as it is in force at that moment."""

    concurrency: int | UnsetType | None = UNSET
    rate: RateLimit | UnsetType | None = UNSET
    note: str | None = None

    def upon(self, limit: FlowLimit | None) -> tuple[int | None, RateLimit | None]:
        """The concurrency and the rate that are in force once this is set in place of ``limit``."""
        concurrency, rate = (None, None) if limit is None else (limit.cap, limit.rate)
        return (
            concurrency if isinstance(self.concurrency, UnsetType) else self.concurrency,
            rate if isinstance(self.rate, UnsetType) else self.rate,
        )


def _rate(calls: int | None, seconds: float | None) -> RateLimit | None:
    return None if calls is None or seconds is None else RateLimit(calls, seconds)


def workflow_limit(workflow: str) -> str:
    """The name of the limit of a workflow."""
    return WORKFLOW + workflow


def agent_limit(agent: str) -> str:
    """The name of the limit of an Agent."""
    return AGENT + agent
