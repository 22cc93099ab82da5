"""Rate limits by key: failed sign-ins of an address, requests of a principal."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable

MOST_KEYS = 10_000
"""Most addresses or principals that are tracked; the least recently used are dropped."""


class AccessLimit:
    """A token bucket for each key, which fills by ``rate`` permits a second up to ``burst``."""

    def __init__(self, clock: Callable[[], float], *, rate: float, burst: float) -> None:
        self._clock = clock
        self._rate = rate
        self._burst = burst
        self._levels: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait_seconds(self, key: str) -> float:
        """Seconds until the key has a permit; 0 if it has one."""
        return max(0.0, (1 - self._level(key)) / self._rate)

    def take(self, key: str) -> float:
        """Takes a permit if the key has one. Returns 0 if it was taken, else the seconds until there is one."""
        wait = self.wait_seconds(key)
        if wait == 0:
            self._levels[key] = (self._level(key) - 1, self._clock())
            self._levels.move_to_end(key)
            if len(self._levels) > MOST_KEYS:
                self._levels.popitem(last=False)
        return wait

    def _level(self, key: str) -> float:
        level, at = self._levels.get(key, (self._burst, self._clock()))
        return min(self._burst, level + (self._clock() - at) * self._rate)
