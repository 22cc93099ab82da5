"""Where a relay takes rows from."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from msgspec import Struct, field

from stepward.outbox.entry import OutboxRow


class OutboxBatch(Struct):
    """Rows that were taken, and what became of them, to be recorded when the batch is left."""

    rows: Sequence[OutboxRow]
    made: list[int] = field(default_factory=list)
    aside: list[tuple[int, str]] = field(default_factory=list)


class OutboxSource(Protocol):
    """An outbox of one application in one database."""

    @property
    def shown(self) -> str:
        """Its place, for messages."""
        ...

    def taken(self, most: int, without: Sequence[int]) -> AbstractAsyncContextManager[OutboxBatch]:
        """The first rows without those of these numbers; what became of them is recorded when the block ends.

        If it raises, all are as they were. Raises StoreUnavailable where the database cannot be reached, StoreUnusable
        where it can never be.
        """
        ...

    async def close(self) -> None:
        """Let go of the connection."""
        ...
