"""Rows that ask for a workflow which is not known here: a newer version of the application may have written them."""

from __future__ import annotations

AGAIN_SECONDS = 5.0
PATIENCE_SECONDS = 300.0
"""As long as the processes of an application take to be replaced one after the other."""
MOST = 1000


class UnknownWorkflows:
    """The rows that one relay passes over for a while; others may carry them meanwhile."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[float, float]] = {}
        """Since when a row is known, and until when it is passed over."""

    def passed_over(self, now: float) -> list[int]:
        """The numbers of the rows that are not to be looked at now."""
        self._known = {
            number: (since, until)
            for number, (since, until) in self._known.items()
            if now < until + PATIENCE_SECONDS  # who was not met since was carried by another
        }
        return [number for number, (_, until) in self._known.items() if now < until]

    def put_off(self, number: int, now: float) -> bool:
        """Look at a row again later; False if that was done for long enough, or for too many."""
        since, _ = self._known.get(number, (now, now))
        if now >= since + PATIENCE_SECONDS or (number not in self._known and len(self._known) >= MOST):
            self._known.pop(number, None)
            return False
        self._known[number] = since, now + AGAIN_SECONDS
        return True
