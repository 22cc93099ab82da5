"""The circuit breaker of an Agent instance: a pure state machine, with times as arguments."""

from __future__ import annotations

from enum import StrEnum

from stepward.policies import CircuitBreaker


class BreakerState(StrEnum):
    """Whether calls may go to the service."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


class Breaker:
    """Opens after so many failed calls in a row; later lets one call find out whether the service is back.

    That one holds a lease of ``reset_after``: if it never ends, another takes its place. Other instances of the Agent
    may open it and close it too.
    """

    def __init__(self, policy: CircuitBreaker) -> None:
        self._policy = policy
        self._failures = 0
        self._asks_at = 0.0
        self.state = BreakerState.CLOSED

    def wait(self, now: float) -> float:
        """Seconds until a call may find out; 0.0 if one may now, or if all may pass."""
        return 0.0 if self.state is BreakerState.CLOSED else max(0.0, self._asks_at - now)

    def ask(self, now: float) -> float:
        """0.0 if the caller may call now; else the seconds after which to ask again."""
        wait = self.wait(now)
        if not wait and self.state is not BreakerState.CLOSED:
            self.probe(now)
        return wait

    def probe(self, now: float) -> None:
        """The caller finds out; nobody else does for as long."""
        self.state = BreakerState.HALF_OPEN
        self._asks_at = now + self._policy.reset_seconds

    def succeeded(self) -> bool:
        """The service answered; True if that closed the breaker.

        While it is open, only calls from before can end, and they prove nothing.
        """
        if self.state is BreakerState.OPEN:
            return False
        self._failures = 0
        if self.state is BreakerState.CLOSED:
            return False
        self.close()
        return True

    def failed(self, now: float) -> bool:
        """A call failed; True if that opened the breaker."""
        if self.state is BreakerState.OPEN:
            return False
        self._failures += 1
        if self.state is BreakerState.CLOSED and self._failures < self._policy.failures:
            return False
        self.open(now + self._policy.reset_seconds)
        return True

    def open(self, asks_at: float) -> None:
        """Nothing passes until then."""
        self.state = BreakerState.OPEN
        self._asks_at = asks_at

    def close(self) -> None:
        """Everything passes."""
        self.state = BreakerState.CLOSED
        self._failures = 0
