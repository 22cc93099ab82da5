"""Numbers of alerts, dead letters and acts over several stores: each store counts its own from 1."""

from __future__ import annotations

SPAN = 10**12
"""A number of partition N is N - 1 times that more than in its store: those of the first stay as they are."""


def outside(partition: int, number: int) -> int:
    """The number as operators see it, for one of that partition, counted from 1."""
    return (partition - 1) * SPAN + number


def inside(number: int) -> tuple[int, int]:
    """The partition, counted from 1, and the number in its store."""
    place, own = divmod(number, SPAN)
    return place + 1, own
