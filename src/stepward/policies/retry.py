"""Retry: the calls of a service within one attempt of a step."""

from __future__ import annotations

from dataclasses import dataclass, field

from stepward.durations import Duration, seconds
from stepward.policies.backoff import grown
from stepward.policies.number_checks import check_count, check_factor


@dataclass(frozen=True, slots=True)
class Retry:
    """How often an Agent calls its service within one attempt of a step, and how long it waits between.

    ``jitter`` draws each delay evenly from zero to the grown delay (full jitter).
    """

    attempts: int = 4
    initial: Duration = field(default="200ms", compare=False)
    factor: float = 2.0
    maximum: Duration = field(default="10s", compare=False)
    jitter: bool = True
    initial_seconds: float = field(init=False)
    maximum_seconds: float = field(init=False)

    def __post_init__(self) -> None:
        check_count("Retry.attempts", self.attempts, 1, 1000)
        check_factor("Retry", self.factor)
        object.__setattr__(self, "initial_seconds", seconds(self.initial, "Retry.initial", zero=True))
        object.__setattr__(self, "maximum_seconds", seconds(self.maximum, "Retry.maximum", zero=True))

    def delay(self, failures: int, chance: float) -> float:
        """Seconds to wait after the ``failures``-th failed call; ``chance`` is from 0 to 1."""
        delay = grown(self.initial_seconds, self.factor, self.maximum_seconds, failures)
        return delay * chance if self.jitter else delay
