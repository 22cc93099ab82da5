"""How many calls a second an Agent instance may make: a token bucket, with times as arguments."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from stepward.durations import Duration, seconds
from stepward.errors import DeclarationError

TEXT = re.compile(r"(\d+)/(.+)")
UNIT = re.compile(r"[a-z]+")


@dataclass(frozen=True, slots=True)
class Rate:
    """At most ``calls`` calls per ``per_seconds``."""

    calls: int
    per_seconds: float

    @classmethod
    def parse(cls, value: Any, what: str) -> Rate:
        """The rate of ``(50, "1s")`` or ``"50/s"``; raises DeclarationError."""
        calls, per = _parts(value, what)
        if not isinstance(calls, int) or calls < 1:
            raise DeclarationError(f"{what}: expected 1 call or more, found {calls!r}")
        return cls(calls, seconds(per, what))


class TokenBucket:
    """Lets ``rate.calls`` go at once, then one each time a token is refilled."""

    def __init__(self, rate: Rate) -> None:
        self._size = float(rate.calls)
        self._per_second = rate.calls / rate.per_seconds
        self._tokens = self._size
        self._refilled_at = float("-inf")

    def reserve(self, now: float, by: float) -> float | None:
        """Seconds to wait for a token, now the caller's; None if that lasts to ``by``, and none is taken."""
        refill = max(0.0, now - self._refilled_at) * self._per_second
        self._tokens = min(self._size, self._tokens + refill)
        self._refilled_at = now
        wait = max(0.0, (1.0 - self._tokens) / self._per_second)
        if now + wait >= by:
            return None
        self._tokens -= 1.0
        return wait


def _parts(value: Any, what: str) -> tuple[Any, Duration]:
    if isinstance(value, tuple) and len(value) == 2:
        return value
    match = TEXT.fullmatch(value.replace(" ", "")) if isinstance(value, str) else None
    if match is None:
        raise DeclarationError(f"{what}: expected (calls, per) or text like '50/s', found {value!r}")
    calls, per = match.groups()
    return int(calls), f"1{per}" if UNIT.fullmatch(per) else per
