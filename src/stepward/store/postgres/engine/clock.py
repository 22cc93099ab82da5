"""The store's clock: the server's, followed by the host's boot clock between its answers."""

from __future__ import annotations

from stepward.clock import Clock

JUMP_SECONDS = 0.5
"""A clock that drifts is never found so far off between two answers; one that was set is."""
OLD_SECONDS = 10.0
"""Seconds without an answer after which a process asks; one with instances hears at each third of its lease."""
SLEW = 0.5
"""Seconds of a small difference that are made up for in a second: the clock shown goes faster or slower, never back."""


class StoreClock:
    """What the server's clock shows, as near as its answers tell.

    Each answer bounds the difference to the boot clock: the server read its clock after the question was sent and
    before the answer came. The estimate moves only when it falls outside of those bounds, by as little as will do:
    little by little as clocks drift, and at once when the server's clock was set or another server has taken over.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._offset: float | None = None
        self._slewing = 0.0
        """How far what is shown was ahead of the estimate at ``_heard_at``; it comes nearer as time goes on."""
        self._heard_at = 0.0
        """What the boot clock showed when the estimate last moved."""
        self._asked_at = float("-inf")
        """When the latest answer was asked for, by the boot clock."""
        self._jumped_at = float("-inf")
        """The boot clock when the last jump was found."""
        self._jumped = 0.0

    def now(self) -> float:
        """Seconds of the store's clock, near those since 1970."""
        boot = self._clock.boot()
        return boot + (self._guess() if self._offset is None else self._offset + self._ahead(boot))

    def jumped(self) -> float:
        return self._jumped

    def is_old(self) -> bool:
        """Whether the last answer of the server is so old that its clock should be asked again."""
        return self._clock.boot() - self._asked_at > OLD_SECONDS

    def read(self) -> float:
        """The boot clock, for ``heard``."""
        return self._clock.boot()

    def heard(self, server: float, sent: float) -> None:
        """The server's clock showed ``server`` at some time after the boot clock showed ``sent``."""
        if sent < self._jumped_at:
            # The query was sent before a jump was found, and may have been answered before it: it would be a jump back.
            return
        self._asked_at = max(self._asked_at, sent)
        boot = self._clock.boot()
        lowest, highest = server - boot, server - sent
        if self._offset is None:
            self._offset = (lowest + highest) / 2
            return
        shown = self._offset + self._ahead(boot)
        nearest = min(max(shown, lowest), highest)
        if abs(nearest - shown) > JUMP_SECONDS:
            self._jumped += nearest - shown
            self._jumped_at = boot
            shown = nearest
        self._offset, self._slewing, self._heard_at = nearest, shown - nearest, boot

    def _ahead(self, boot: float) -> float:
        """How far what is shown is ahead of the estimate."""
        left = max(abs(self._slewing) - SLEW * (boot - self._heard_at), 0.0)
        return left if self._slewing > 0 else -left

    def _guess(self) -> float:
        """Before the first answer: the host's own clock."""
        return self._clock.wall() - self._clock.boot()
