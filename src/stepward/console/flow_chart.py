"""The chart of the last hour: tasks submitted and ended in each minute, as stacked bars."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from msgspec import Struct

from stepward.store.contract import FlowCount

BARS = 60
SECONDS = 60.0
KINDS = ("processed", "undone", "cancelled", "error")
"""Final states, from the bottom of a bar to its top."""
HEIGHT = 100.0
"""The height of the chart in pixels; widths are in percent."""
RECENT = 10
"""Bars, the last ones, of which the throughput is shown."""
LEAST_TOP = 4
LEAST_HEIGHT = 1.5


class FlowPiece(NamedTuple):
    """A piece of a bar."""

    kind: str
    top: float
    height: float


class FlowBar(Struct, frozen=True, kw_only=True):
    """The counts of one minute."""

    at: float
    left: float
    width: float
    counts: dict[str, int]
    pieces: list[FlowPiece]
    submitted_top: float | None
    """The position of the mark for submitted tasks; None if there were none."""


class FlowChart(Struct, frozen=True, kw_only=True):
    """The whole chart."""

    bars: list[FlowBar]
    top: int
    """The number at the upper edge."""
    totals: dict[str, int]
    decided: int
    """Attempts that the Supervisor decided on."""
    a_minute: float
    """Tasks that ended per minute, of the last ten minutes."""

    @property
    def is_empty(self) -> bool:
        """Whether no task was submitted or ended."""
        return not any(self.totals.values())

    @property
    def failed(self) -> float | None:
        """The part of the ended tasks that is in error or was undone, 0 to 1; None where none ended."""
        ended = sum(self.totals[kind] for kind in KINDS)
        return (self.totals["error"] + self.totals["undone"]) / ended if ended else None


def flow_since(now: float) -> float:
    """The instant at which the first bar begins, at a whole minute."""
    return (now // SECONDS - (BARS - 1)) * SECONDS


def flow_chart(found: Sequence[FlowCount], since: float) -> FlowChart:
    """The chart of the store's counts from ``since`` on."""
    counts: list[Counter[str]] = [Counter() for _ in range(BARS)]
    for flow in found:
        if 0 <= flow.bucket < BARS:
            counts[flow.bucket][flow.what] += flow.count
    highest = max([LEAST_TOP, *(max(_ended(minute), minute["submitted"]) for minute in counts)])
    top = _round_up(highest)
    return FlowChart(
        bars=[_bar(number, minute, top, since) for number, minute in enumerate(counts)],
        top=top,
        totals={kind: sum(minute[kind] for minute in counts) for kind in ("submitted", *KINDS)},
        decided=sum(minute["decided"] for minute in counts),
        a_minute=sum(map(_ended, counts[-RECENT:])) / RECENT,
    )


def _bar(number: int, counts: Counter[str], top: int, since: float) -> FlowBar:
    pieces: list[FlowPiece] = []
    floor = HEIGHT
    for kind in KINDS:
        if counts[kind]:
            height = max(LEAST_HEIGHT, HEIGHT * counts[kind] / top)
            floor -= height
            pieces.append(FlowPiece(kind, max(0.0, floor), height))
    width = 100.0 / BARS
    submitted = HEIGHT - HEIGHT * counts["submitted"] / top if counts["submitted"] else None
    return FlowBar(
        at=since + number * SECONDS,
        left=number * width,
        width=width,
        counts={kind: counts[kind] for kind in ("submitted", *KINDS)},
        pieces=pieces,
        submitted_top=submitted,
    )


def _ended(counts: Counter[str]) -> int:
    return sum(counts[kind] for kind in KINDS)


def _round_up(number: int) -> int:
    """The next number of the form 1, 2, 4, 5 or 8 times a power of ten."""
    power = 1
    while True:
        for digit in (1, 2, 4, 5, 8):
            if digit * power >= number:
                return digit * power
        power *= 10
