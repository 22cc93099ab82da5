"""The token bucket of an Agent's instance, which bounds how many calls it starts a second; times are arguments."""

from __future__ import annotations

from stepward.model.limits.rate import RateLimit


class TokenBucket:
    """Lets ``rate.calls`` go at once, then one each time a token is refilled.

    Where several instances share the rate, each has an equal part of the bucket and of what refills it.
    """

    def __init__(self, rate: RateLimit, parts: int = 1) -> None:
        self._rate = rate
        self._parts = parts
        self._size = self._tokens = rate.calls / parts
        self._refilled_at = float("-inf")

    @classmethod
    def empty(cls, rate: RateLimit, parts: int, now: float) -> TokenBucket:
        """A bucket that begins without tokens, where calls were unbounded until ``now``."""
        bucket = cls(rate, parts)
        bucket._tokens, bucket._refilled_at = 0.0, now
        return bucket

    def is_divided(self, parts: int) -> bool:
        """Whether it is to be divided again, to be one of so many parts."""
        return parts >= 1 and parts != self._parts

    def divide(self, parts: int, now: float, *, returned: int) -> None:
        """Be one of so many parts from now on; ``returned`` tokens that were reserved are not used after all."""
        self._refill(now)
        self._parts = parts
        self._size = self._rate.calls / parts
        self._tokens = min(self._size, self._tokens + returned)

    def change_rate(self, rate: RateLimit, now: float, *, returned: int) -> None:
        """Refill at another rate from now on; ``returned`` tokens that were reserved are not used after all."""
        self._refill(now)
        self._rate = rate
        self._size = rate.calls / self._parts
        self._tokens = min(self._size, self._tokens + returned)

    def ready(self, now: float) -> int:
        """How many calls could be made now, one after the other."""
        self._refill(now)
        return max(0, int(self._tokens))

    def put_back(self) -> None:
        """A token that was reserved is not used after all."""
        self._tokens = min(self._size, self._tokens + 1.0)

    def reserve(self, now: float, by: float) -> float | None:
        """Seconds to wait for a token, now the caller's; None if that lasts to ``by``, and none is taken."""
        self._refill(now)
        wait = max(0.0, (1.0 - self._tokens) / self._per_second)
        if now + wait >= by:
            return None
        self._tokens -= 1.0
        return wait

    @property
    def _per_second(self) -> float:
        return self._rate.calls / self._rate.per_seconds / self._parts

    def _refill(self, now: float) -> None:
        refill = max(0.0, now - self._refilled_at) * self._per_second
        self._tokens = min(self._size, self._tokens + refill)
        self._refilled_at = now
