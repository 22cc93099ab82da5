"""Limits on concurrent streams and waiting answers, of this process and of each principal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from stepward.http.access.principals import Principal
from stepward.http.exception_handlers import HttpRefusal

MOST_STREAMS = 200
"""Most concurrent streams of one process."""
MOST_OF_PRINCIPAL = 20
"""Most concurrent streams of one principal."""
RETRY = {"Retry-After": "5"}


class StreamSlots:
    """Counts the streams of a process."""

    def __init__(self) -> None:
        self._open: Counter[str] = Counter()

    def check(self, principal: Principal) -> None:
        """Raises HttpRefusal where another stream is over the limit: 429 for the principal's, 503 for the process's."""
        own = self._open[_key(principal)]
        if own >= MOST_OF_PRINCIPAL:
            raise HttpRefusal(
                429, f"streams: expected at most {MOST_OF_PRINCIPAL} of one principal, found {own}", headers=RETRY
            )
        if self._open.total() >= MOST_STREAMS:
            raise HttpRefusal(503, f"streams: expected at most {MOST_STREAMS}, found as many", headers=RETRY)

    def is_free(self, principal: Principal) -> bool:
        """Whether the principal may hold one more answer back."""
        return self._open[_key(principal)] < MOST_OF_PRINCIPAL and self._open.total() < MOST_STREAMS

    @contextmanager
    def held(self, principal: Principal) -> Iterator[None]:
        """Counts a stream while it is open."""
        self._open[_key(principal)] += 1
        try:
            yield
        finally:
            self._open[_key(principal)] -= 1
            self._open += Counter()  # forgets those without a stream


def _key(principal: Principal) -> str:
    return principal.credential or principal.name
