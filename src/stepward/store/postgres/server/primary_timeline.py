"""The timeline of the primary, which rises with each failover: a server on an older one is refused."""

from __future__ import annotations

from typing import Any, NamedTuple


class KnownPrimary(NamedTuple):
    """Which cluster a primary belongs to, and its timeline there."""

    system: int
    timeline: int

    @classmethod
    def read(cls, row: Any) -> KnownPrimary | None:
        """What a row of system and name of the current WAL file tells; None of a standby, which has no such file."""
        if row is None or row[0] is None or row[1] is None:
            return None
        return cls(row[0], int(row[1][:TIMELINE_DIGITS], 16))


TIMELINE_DIGITS = 8
"""With which the name of a WAL file begins."""


class Lineage:
    """The newest primary that this store object has connected to or learned of."""

    def __init__(self) -> None:
        self.newest: KnownPrimary | None = None

    def met(self, line: KnownPrimary | None) -> None:
        """Records a newer primary; one of another cluster, to which the store was moved, replaces the record."""
        if line is not None and not self.is_outdated(line):
            self.newest = line

    def is_outdated(self, line: KnownPrimary | None) -> bool:
        """Whether another primary of the same cluster has replaced this one."""
        newest = self.newest
        return (
            line is not None and newest is not None and line.system == newest.system and line.timeline < newest.timeline
        )
