"""The uses of keys in stored payloads, page by page, and encryption with the current key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from msgspec import Struct

from stepward.payload.sealed import PayloadCodec

RowPlace = tuple[Any, ...]
"""The key of the last row of a page."""


class SealedPage(Struct, frozen=True):
    """What one page of a table held."""

    uses: Mapping[str, int]
    """By the id of a key, the number of payloads that it encrypts."""
    resealed: int
    """The number of rows that were re-encrypted."""
    after: RowPlace | None
    """Where the next page begins; None at the end."""


class KeyUseStore(Protocol):
    """The verbs of operators on the keys of payloads."""

    @property
    def sealed_tables(self) -> Sequence[str]:
        """The tables with encrypted payloads, by name."""
        ...

    async def sealed_page(self, table: str, after: RowPlace | None, codec: PayloadCodec | None) -> SealedPage:
        """Counts the keys of a page of a table, from its beginning where ``after`` is None.

        With ``codec``, payloads that another key encrypts are encrypted with its current key, except in the audit,
        whose hashes are those of what is stored. Raises Refused while a shard arrives: its parts hold payloads too.
        """
        ...

    async def forget_key(self, key: str, actor: str) -> None:
        """Removes the mark of a key that no payload needs, so that processes start without it; audited.

        Raises Refused while a shard arrives.
        """
        ...
