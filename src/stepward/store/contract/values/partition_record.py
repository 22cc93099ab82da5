"""What a store keeps about itself as one of the several stores of an application."""

from __future__ import annotations

from msgspec import Struct


class PartitionRecord(Struct, frozen=True, kw_only=True):
    """The place of a store among those of its application, written before the first task and when a shard moves."""

    name: str
    number: int
    """Its place in the list of stores, counted from 1."""
    count: int
    """The number of stores of the application."""
    first: str
    """The identity of the first store: stores of one application have it in common."""
    shards: str
    """The shards that it holds, as 256 bits in hexadecimal."""
    placed_since: float | None = None
    """The instant (seconds since 1970) from which every id that is drawn is placed where its task is; None: earlier
    versions drew ids of tasks that stand elsewhere, by a key or beside the task that they were forked from."""
    added_at: float | None = None
    """When the last store was added, by this store's clock; None: the application began with as many, or an earlier
    version added it."""
