"""The chart of the last hour: tasks submitted and ended in each minute, as stacked bars."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from msgspec import Struct

from stepward.console.stacked_bars import HEIGHT, BarPiece, stacked, upper_edge
from stepward.store.contract import MOST_IN_ERROR, MOST_IN_FLOW, FlowCount

BARS = 60
SECONDS = 60.0
KINDS = ("processed", "undone", "cancelled", "error")
"""Final states, from the bottom of a bar to its top."""
COUNTED_TOGETHER = {
    ("submitted",): MOST_IN_FLOW,
    ("processed", "undone", "cancelled"): MOST_IN_FLOW,
    ("error",): MOST_IN_ERROR,
}
"""What the store counts together, with its bound."""
RECENT = 10
"""Bars, the last ones, of which the throughput is shown."""


class FlowBar(Struct, frozen=True, kw_only=True):
    """The counts of one minute."""

    at: float
    left: float
    width: float
    counts: dict[str, int]
    pieces: list[BarPiece]
    submitted_top: float | None
    """The position of the mark for submitted tasks; None if there were none."""
    decided: int
    """Attempts that the Supervisor decided on."""


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
    covered_from: float | None
    """Before this instant something is left out, because the store counts the newest alone; None: all is counted."""

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
    top = upper_edge([number for minute in counts for number in (_ended(minute), minute["submitted"])])
    return FlowChart(
        bars=[_bar(number, minute, top, since) for number, minute in enumerate(counts)],
        top=top,
        totals={kind: sum(minute[kind] for minute in counts) for kind in ("submitted", *KINDS)},
        decided=sum(minute["decided"] for minute in counts),
        a_minute=sum(map(_ended, counts[-RECENT:])) / RECENT,
        covered_from=_covered_from(counts, since),
    )


def _bar(number: int, counts: Counter[str], top: int, since: float) -> FlowBar:
    width = 100.0 / BARS
    return FlowBar(
        at=since + number * SECONDS,
        left=number * width,
        width=width,
        counts={kind: counts[kind] for kind in ("submitted", *KINDS)},
        pieces=stacked(counts, KINDS, top),
        submitted_top=HEIGHT - HEIGHT * counts["submitted"] / top if counts["submitted"] else None,
        decided=counts["decided"],
    )


def _covered_from(counts: Sequence[Counter[str]], since: float) -> float | None:
    """The end of the latest minute that the bound of a count may have cut."""
    cut = [
        next(number for number, minute in enumerate(counts) if any(minute[what] for what in group))
        for group, most in COUNTED_TOGETHER.items()
        if sum(minute[what] for minute in counts for what in group) >= most
    ]
    return since + (max(cut) + 1) * SECONDS if cut else None


def _ended(counts: Counter[str]) -> int:
    return sum(counts[kind] for kind in KINDS)
