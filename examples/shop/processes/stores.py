"""Where the shop keeps its orders and Stepward its tasks: what STORE=… says."""

from __future__ import annotations

from enum import StrEnum


class StoreKind(StrEnum):
    """One of the two databases that the example knows."""

    SQLITE = "sqlite"  # a file
    POSTGRESQL = "postgresql"  # a primary and its standby


def store_kind(text: str) -> StoreKind:
    """The store of that name; raises ValueError, in words."""
    try:
        return StoreKind(text)
    except ValueError:
        known = " or ".join(StoreKind)
        raise ValueError(f"store: expected {known}, found {text[:40]!r}; say STORE=postgresql, or nothing") from None
