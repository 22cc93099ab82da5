"""Rows for a workflow that is not known here: a newer version of the application may have written them."""

from __future__ import annotations

AGAIN_SECONDS = 5.0
PATIENCE_SECONDS = 300.0
"""Seconds, as long as a rolling update of an application takes."""
MOST = 1000


class UnknownWorkflows:
    """The rows that one relay skips for a while; others may carry them meanwhile."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[float, float]] = {}
        """When a row was first seen, and until when it is skipped."""

    def passed_over(self, now: float) -> list[int]:
        """The numbers of the rows to skip now."""
        self._known = {
            number: (since, until)
            for number, (since, until) in self._known.items()
            if now < until + PATIENCE_SECONDS  # A row that was not seen since was carried by another relay.
        }
        return [number for number, (_, until) in self._known.items() if now < until]

    def put_off(self, number: int, now: float) -> bool:
        """Skip a row for a while; False if it was skipped for long enough, or there are too many."""
        since, _ = self._known.get(number, (now, now))
        if now >= since + PATIENCE_SECONDS or (number not in self._known and len(self._known) >= MOST):
            self._known.pop(number, None)
            return False
        self._known[number] = since, now + AGAIN_SECONDS
        return True
