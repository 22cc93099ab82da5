"""The clocks of a simulated process: the host's boot clock is the loop's time, the wall clock may jump."""

from __future__ import annotations

from collections.abc import Callable

STARTED_AT = 1_800_000_000.0
BOOTED_FOR = 1_000.0


class SimulatedClock:
    """A simulated ``Clock``: ``offset`` is how wrong the wall clock is, ``rate`` how fast it runs.

    Processes of one host share the boot clock, which is never set: it is right everywhere.
    """

    def __init__(self, time: Callable[[], float], rate: float = 1.0) -> None:
        self._time = time
        self.offset = 0.0
        self.rate = rate

    def wall(self) -> float:
        return STARTED_AT + self._time() * self.rate + self.offset

    def boot(self) -> float:
        return BOOTED_FOR + self._time()

    def boot_id(self) -> str:
        return "simulated"
