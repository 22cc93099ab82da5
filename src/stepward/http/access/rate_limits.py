"""How often one address may fail to sign in, and how often one principal may ask."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable

MOST_KEYS = 10_000
"""Addresses or principals that are kept apart; the ones that were quiet for longest are forgotten."""


class AccessLimit:
    """A bucket of permits for each key, which fills by ``rate`` a second up to ``burst``."""

    def __init__(self, clock: Callable[[], float], *, rate: float, burst: float) -> None:
        self._clock = clock
        self._rate = rate
        self._burst = burst
        self._levels: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait_seconds(self, key: str) -> float:
        """Seconds until the key has a permit; 0 if it has one."""
        return max(0.0, (1 - self._level(key)) / self._rate)

    def take(self, key: str) -> float:
        """Take a permit, if there is one, and give the seconds to wait until there is: 0 if it was taken."""
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
