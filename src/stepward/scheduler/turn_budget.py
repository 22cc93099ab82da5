"""How much one turn takes in: what comes in a burst is spread over turns, so that nothing else in the process waits.

Each source of work gets a share of every turn, however little time is left, so that none of them starves.
"""

from __future__ import annotations

from stepward.clock import Clock

TURN_SECONDS = 0.008
"""How long a turn takes work in; its commit, and what follows from it, takes about as long again."""
PIECE = 32
"""How many of one source a turn takes before it looks at the clock: its least share."""
MOST = 512
"""How many of one source a turn takes at most."""
LARGE_BYTES = 64 * 1024
"""From here on a payload counts by its size."""
TURN_BYTES = 1024 * 1024
"""Bytes of large payloads after which a turn takes no more from their source, and of payloads after which it divides
what it commits."""
SMALL_BYTES = TURN_BYTES // MOST // 2
"""Up to here the payloads of a task do not count: a turn's tasks with as many each do not reach TURN_BYTES."""


class TurnBudget:
    """The time that a turn has left to take work in; it runs from the first time that a source asks."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.until: float | None = None
        """When it is over by the boot clock; None at the beginning of each turn."""
        self.is_cut = False
        """Whether the turn has left some of its work to the next one."""

    def is_spent(self, taken: int) -> bool:
        """Whether a source that gave ``taken``, a multiple of ``PIECE``, has had its share of the turn."""
        now = self._clock.boot()
        if self.until is None:
            self.until = now + TURN_SECONDS
        if taken < MOST and now < self.until:
            return False
        self.is_cut = True
        return True
