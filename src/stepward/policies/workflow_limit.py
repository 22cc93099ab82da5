"""The limit of a workflow: how many of its tasks are at work at once, and how many start within a time."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from stepward.durations import Duration
from stepward.errors import DeclarationError
from stepward.model.limits.flow_limit import MOST_CONCURRENCY
from stepward.model.limits.rate import RateLimit


@dataclass(frozen=True, slots=True)
class Limit:
    """How many tasks of a workflow may be at work at once, and how many may start within a time, over all processes.

    A task is at work from its first step to its end. ``rate`` is ``(100, "1s")`` or ``"100/s"``: 100 start at once, and
    from then on one each 10 ms. With ``per="key"`` each fairness key has the limit for itself.
    """

    concurrency: int | None = None
    per: Literal["key"] | None = None
    rate: tuple[int, Duration] | str | None = field(default=None, compare=False)
    rate_limit: RateLimit | None = field(init=False)

    def __post_init__(self) -> None:
        if self.concurrency is None and self.rate is None:
            raise DeclarationError("Limit: expected concurrency=, rate= or both, found neither; give one")
        if self.concurrency is not None and not (
            isinstance(self.concurrency, int) and 1 <= self.concurrency <= MOST_CONCURRENCY
        ):
            raise DeclarationError(
                f"Limit: expected concurrency from 1 to {MOST_CONCURRENCY:,}, found {self.concurrency!r:.60}"
            )
        rate = None if self.rate is None else RateLimit.parse(self.rate, "Limit.rate")
        object.__setattr__(self, "rate_limit", rate)
        if self.per not in (None, "key"):
            raise DeclarationError(f"Limit: expected per=None or per='key', found {self.per!r:.60}")
