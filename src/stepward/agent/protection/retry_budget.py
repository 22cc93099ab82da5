"""A budget for retries, so that many failing calls together are no storm; times are arguments."""

from __future__ import annotations

PER_SUCCESS = 0.1
FLOOR = 10.0
FLOOR_PER_SECOND = 1.0
MOST = 100.0


class RetryBudget:
    """Retries at most a tenth of the successes, plus ten in ten seconds that are always allowed."""

    def __init__(self) -> None:
        self._earned = 0.0
        self._floor = FLOOR
        self._refilled_at = float("-inf")

    def succeeded(self) -> None:
        """A call succeeded, which earns a tenth of a retry."""
        if self._earned < MOST:
            self._earned += PER_SUCCESS

    def spend(self, now: float) -> bool:
        """Take one retry, if there is one."""
        refill = max(0.0, now - self._refilled_at) * FLOOR_PER_SECOND
        self._floor = min(FLOOR, self._floor + refill)
        self._refilled_at = now
        if self._earned >= 1.0:
            self._earned -= 1.0
        elif self._floor >= 1.0:
            self._floor -= 1.0
        else:
            return False
        return True
