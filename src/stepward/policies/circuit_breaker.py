"""The circuit breaker of an Agent, as it is declared; ``agent/protection/`` opens and closes it."""

from __future__ import annotations

from dataclasses import dataclass, field

from stepward.durations import Duration, seconds
from stepward.policies.number_checks import check_count


@dataclass(frozen=True, slots=True)
class CircuitBreaker:
    """Opens after ``failures`` failed calls in a row: nothing is sent for ``reset_after``, then one call probes."""

    failures: int = 5
    reset_after: Duration = field(default="15s", compare=False)
    reset_seconds: float = field(init=False)

    def __post_init__(self) -> None:
        check_count("CircuitBreaker.failures", self.failures, 1, 1_000_000)
        object.__setattr__(self, "reset_seconds", seconds(self.reset_after, "CircuitBreaker.reset_after"))
