"""The source of a relay's rows."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from msgspec import Struct, field

from stepward.outbox.entry import OutboxRow


class OutboxBatch(Struct):
    """Taken rows and their results, which are recorded when the batch is left."""

    rows: Sequence[OutboxRow]
    made: list[int] = field(default_factory=list)
    aside: list[tuple[int, str]] = field(default_factory=list)


class OutboxSource(Protocol):
    """The outbox of one application in one database."""

    @property
    def shown(self) -> str:
        """The database's address, for messages."""
        ...

    def taken(self, most: int, without: Sequence[int]) -> AbstractAsyncContextManager[OutboxBatch]:
        """The oldest rows except those with these numbers; their results are recorded when the block ends.

        If the block raises, all rows are unchanged. Raises StoreUnavailable if the database cannot be reached,
        StoreUnusable if it never can be.
        """
        ...

    async def close(self) -> None:
        """Close the connection."""
        ...
