"""Rates: how many may start within a time. A bucket of tokens as one instant, that at which it is full again (GCRA)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from stepward import durations
from stepward.durations import Duration, seconds, shown
from stepward.errors import DeclarationError

TEXT = re.compile(r"(\d{1,9})/(.+)")
UNIT = re.compile(r"[a-z]+")
MOST_CALLS = 1_000_000
"""Most starts within the time of a rate."""
LEAST_SECONDS = 0.001
"""Least time of a rate, in seconds: the least that its text shows."""
GATHERED_SECONDS = 0.05
"""Seconds within which waiting starts are gathered: each look lets go what has come to be free meanwhile."""
ROUNDING = 1e-6
"""Part of a token by which sums of floating-point seconds may be short."""


@dataclass(frozen=True, slots=True)
class RateLimit:
    """At most ``calls`` at once, and from then on one more each time a token is refilled, ``calls`` per
    ``per_seconds``."""

    calls: int
    per_seconds: float

    @classmethod
    def parse(cls, value: Any, what: str) -> RateLimit:
        """The rate of ``(50, "1s")`` or ``"50/s"``; raises DeclarationError."""
        calls, per = _parts(value, what)
        if not isinstance(calls, int) or isinstance(calls, bool) or not 1 <= calls <= MOST_CALLS:
            raise DeclarationError(f"{what}: expected 1 to {MOST_CALLS:,} at a time, found {shown(calls)}")
        per_seconds = seconds(per, what)
        if per_seconds < LEAST_SECONDS:
            raise DeclarationError(f"{what}: expected a time of at least 1ms, found {shown(per)}; give a longer one")
        return cls(calls, per_seconds)

    @property
    def text(self) -> str:
        """The rate as it is written: ``50/1s``."""
        return f"{self.calls}/{durations.text(self.per_seconds).replace(' ', '')}"

    @property
    def interval(self) -> float:
        """Seconds in which one token is refilled."""
        return self.per_seconds / self.calls

    def tokens(self, full_at: float, now: float) -> int:
        """How many tokens are in a bucket that is full again at ``full_at``."""
        missing = max(0.0, full_at - now) / self.interval
        return max(0, int(self.calls - missing + ROUNDING))

    def taken(self, full_at: float, now: float, count: int) -> float:
        """When the bucket is full again once so many tokens are taken."""
        return max(full_at, now) + count * self.interval

    def next_at(self, full_at: float) -> float:
        """When there are tokens again in a bucket that has none: one, or those of 50 ms where that is more."""
        gathered = max(1, min(self.calls // 2, int(GATHERED_SECONDS / self.interval)))
        return full_at - self.per_seconds + gathered * self.interval


def _parts(value: Any, what: str) -> tuple[Any, Duration]:
    if isinstance(value, tuple) and len(value) == 2:
        return value
    match = TEXT.fullmatch(value.replace(" ", "")) if isinstance(value, str) else None
    if match is None:
        raise DeclarationError(f"{what}: expected (count, time) or text like '50/s', found {shown(value)}")
    calls, per = match.groups()
    return int(calls), f"1{per}" if UNIT.fullmatch(per) else per
