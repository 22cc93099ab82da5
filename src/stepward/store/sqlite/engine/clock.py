"""The store's clock: the host's boot clock plus an offset kept in the file; wall-clock jumps move nothing."""

from __future__ import annotations

from stepward.clock import OffsetClock
from stepward.store.named_queries import load_queries
from stepward.store.sqlite.engine.connection import Connection
from stepward.store.verbs.connection import VerbClock

Q = load_queries(__package__, "clock.sql")


class StoreClock(OffsetClock, VerbClock):
    """Every process of one start of the host reads the same offset, hence the same time."""

    def recall(self, connection: Connection) -> bool:
        """Read this start's offset; False if no process has made it yet."""
        row = connection.row(Q["read_offset"], (self._clock.boot_id(),))
        if row is not None:
            self._offset = float(row[0])
        return row is not None

    def load(self, connection: Connection) -> None:
        """Within a transaction: read this start's offset, or make it from the wall clock, never backwards."""
        boot_id = self._clock.boot_id()
        row = connection.row(Q["read_offset"], (boot_id,))
        if row is None:
            high = connection.row(Q["latest_instant"])
            now = max(self._clock.wall(), high[0] if high else 0.0)
            row = (now - self._clock.boot(),)
            connection.change(Q["write_boot_id"], (boot_id,))
            connection.change(Q["write_offset"], row)
        self._offset = float(row[0])
