"""Bars of a chart that are made of pieces, one above the other; heights in pixels, widths in percent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

HEIGHT = 100.0
"""The height of a chart in pixels."""
LEAST_TOP = 4
"""The least number at the upper edge: one task is no full bar."""
LEAST_HEIGHT = 1.5


class BarPiece(NamedTuple):
    """A piece of a bar."""

    kind: str
    top: float
    height: float


def stacked(counts: Mapping[str, int], kinds: Sequence[str], top: int) -> list[BarPiece]:
    """The pieces of one bar, from the bottom to its top, where ``top`` is the number at the upper edge."""
    pieces: list[BarPiece] = []
    floor = HEIGHT
    for kind in kinds:
        if counts.get(kind):
            height = max(LEAST_HEIGHT, HEIGHT * counts[kind] / top)
            floor -= height
            pieces.append(BarPiece(kind, max(0.0, floor), height))
    return pieces


def upper_edge(numbers: Sequence[int]) -> int:
    """The number at the upper edge of a chart of these numbers: 1, 2, 4, 5 or 8 times a power of ten."""
    highest = max([LEAST_TOP, *numbers])
    power = 1
    while True:
        for digit in (1, 2, 4, 5, 8):
            if digit * power >= highest:
                return digit * power
        power *= 10
