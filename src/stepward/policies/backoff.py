"""Backoff: delays that grow from one failure to the next."""

from __future__ import annotations

from dataclasses import dataclass, field

from stepward.durations import Duration, seconds
from stepward.policies.number_checks import check_factor


@dataclass(frozen=True, slots=True)
class Backoff:
    """Delays that grow by ``factor`` from ``initial`` up to ``maximum``; equal if they wait alike."""

    initial: Duration = field(default="1s", compare=False)
    factor: float = 2.0
    maximum: Duration = field(default="1m", compare=False)
    initial_seconds: float = field(init=False)
    maximum_seconds: float = field(init=False)

    def __post_init__(self) -> None:
        check_factor("Backoff", self.factor)
        object.__setattr__(self, "initial_seconds", seconds(self.initial, "Backoff.initial", zero=True))
        object.__setattr__(self, "maximum_seconds", seconds(self.maximum, "Backoff.maximum", zero=True))

    def delay(self, failures: int) -> float:
        """Seconds to wait after the ``failures``-th failure, counted from 1."""
        return grown(self.initial_seconds, self.factor, self.maximum_seconds, failures)


def grown(initial: float, factor: float, maximum: float, failures: int) -> float:
    """``initial`` times ``factor`` for each failure past the first, at most ``maximum``; never overflows."""
    delay = initial
    for _ in range(failures - 1):
        if delay >= maximum or factor == 1.0 or delay == 0:
            break
        delay *= factor
    return min(delay, maximum)
