"""The circuit breaker and the retry budget of an Agent instance: pure, times are arguments."""

from __future__ import annotations

from enum import StrEnum

from stepward.policies import CircuitBreaker

PER_SUCCESS = 0.1
"""Retries that a success earns."""
MOST = 100.0
"""Most retries that are saved up."""
FLOOR = 10.0
"""Retries that are allowed whatever was earned, and how many of them come back each second."""
FLOOR_PER_SECOND = 1.0


class BreakerState(StrEnum):
    """Whether calls may go to the service."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


# Names for what every call is compared with, as in model/states.py.
CLOSED, OPEN, HALF_OPEN = BreakerState.CLOSED, BreakerState.OPEN, BreakerState.HALF_OPEN


class Breaker:
    """Opens after so many failed calls in a row; later lets one call find out whether the service is back.

    That one holds a lease of ``reset_after``: if it never ends, another takes its place. Other instances of the Agent
    may open it and close it too.
    """

    def __init__(self, policy: CircuitBreaker) -> None:
        self._policy = policy
        self._failures = 0
        self._asks_at = 0.0
        self.state = CLOSED

    def wait(self, now: float) -> float:
        """Seconds until a call may find out; 0.0 if one may now, or if all may pass."""
        return 0.0 if self.state is CLOSED else max(0.0, self._asks_at - now)

    def ask(self, now: float) -> float:
        """0.0 if the caller may call now; else the seconds after which to ask again."""
        wait = self.wait(now)
        if not wait and self.state is not CLOSED:
            self.probe(now)
        return wait

    def probe(self, now: float) -> None:
        """The caller probes the service; no other call does for ``reset_after``."""
        self.state = HALF_OPEN
        self._asks_at = now + self._policy.reset_seconds

    def succeeded(self) -> bool:
        """The service answered; True if that closed the breaker.

        While it is open, only calls from before can end, and they prove nothing.
        """
        if self.state is OPEN:
            return False
        self._failures = 0
        if self.state is CLOSED:
            return False
        self.close()
        return True

    def failed(self, now: float) -> bool:
        """A call failed; True if that opened the breaker."""
        if self.state is OPEN:
            return False
        self._failures += 1
        if self.state is CLOSED and self._failures < self._policy.failures:
            return False
        self.open(now + self._policy.reset_seconds)
        return True

    def open(self, asks_at: float) -> None:
        """Lets no call pass until the instant ``asks_at``."""
        self.state = OPEN
        self._asks_at = asks_at

    def close(self) -> None:
        """Everything passes."""
        self.state = CLOSED
        self._failures = 0


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
