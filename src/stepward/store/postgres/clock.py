"""The store's clock: the server's, followed by the host's boot clock between its answers."""

from __future__ import annotations

from stepward.clock import Clock


class StoreClock:
    """What the server's clock shows, as near as its answers tell.

    Each answer bounds the difference to the boot clock: the server read its clock after the question was sent and
    before the answer came. The estimate moves only when it falls outside of those bounds: by as little as will do, as
    clocks drift, and at once when another server has taken over.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._offset: float | None = None

    def now(self) -> float:
        """Seconds of the store's clock, near those since 1970."""
        return self._clock.boot() + (self._offset if self._offset is not None else self._guess())

    def read(self) -> float:
        """The boot clock, for ``heard``."""
        return self._clock.boot()

    def heard(self, server: float, sent: float) -> None:
        """The server's clock showed ``server`` at some time after the boot clock showed ``sent``."""
        lowest, highest = server - self._clock.boot(), server - sent
        if self._offset is None:
            self._offset = (lowest + highest) / 2
        else:
            self._offset = min(max(self._offset, lowest), highest)

    def _guess(self) -> float:
        """Before the first answer: the host's own clock."""
        return self._clock.wall() - self._clock.boot()
