"""The time axis of a timeline: linear, with stretches of more than an hour without events folded."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import pairwise

from msgspec import Struct

from stepward import durations
from stepward.console.timeline.spans import TimelineRow

FOLDED_FROM = 3600.0
"""Seconds without an event from which a stretch is folded."""
FOLD_WIDTH = 3.0
"""The width of a folded stretch, in percent of the axis."""
MOST_FOLDS = 12
"""Most folded stretches; with more only the longest are folded."""
LEAST_SECONDS = 0.01
TICKS = 6
STEPS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800)
LONGER_STEPS = (3600.0, 7200.0, 14400.0, 21600.0, 43200.0, 86400.0, 172800.0, 604800.0, 2592000.0, 31536000.0)


class AxisPart(Struct, frozen=True):
    """A stretch of time with its position and width, in percent of the axis."""

    start: float
    end: float
    left: float
    right: float
    is_folded: bool


class AxisTick(Struct, frozen=True):
    """A labelled instant of the axis, and its distance from the beginning."""

    left: float
    at: float
    label: str


class TimeAxis:
    """The axis from ``start`` to ``end``; ``instants`` are those of events."""

    def __init__(self, start: float, end: float, instants: Iterable[float], *, origin: float | None = None) -> None:
        self.start = start
        self.end = max(end, start + LEAST_SECONDS)
        self.origin = start if origin is None else origin
        inside = {at for at in instants if self.start < at < self.end}
        self.parts = _parts(sorted({self.start, self.end, *inside}))
        self._starts = [part.start for part in self.parts]

    def position(self, at: float) -> float:
        """The position of an instant in percent of the axis; instants outside are placed at its edge."""
        if at <= self.start:
            return 0.0
        if at >= self.end:
            return 100.0
        part = self.parts[bisect_right(self._starts, at) - 1]
        return part.left + (part.right - part.left) * (at - part.start) / (part.end - part.start)

    @property
    def folds(self) -> list[AxisPart]:
        """The folded stretches."""
        return [part for part in self.parts if part.is_folded]

    def ticks(self) -> list[AxisTick]:
        """Instants to label: round distances from the beginning of the task."""
        found: list[AxisTick] = []
        for part in self.parts:
            if not part.is_folded:
                found += self._ticks_of(part)
        return found

    def _ticks_of(self, part: AxisPart) -> list[AxisTick]:
        room = max(1.0, TICKS * (part.right - part.left) / 100.0)
        width = (part.end - part.start) / room
        step = next((seconds for seconds in (*STEPS, *LONGER_STEPS) if seconds >= width), LONGER_STEPS[-1])
        first = int((part.start - self.origin) // step)
        count = min(2 * TICKS, int((part.end - part.start) / step) + 2)
        instants = [self.origin + step * (first + number) for number in range(count)]
        return [
            AxisTick(self.position(at), at, _label(at - self.origin))
            for at in instants
            if part.start - 1e-9 <= at < part.end and self.position(at) < 97.0
        ]


def axis_of(rows: Sequence[TimelineRow], start: float, end: float, *, window: tuple[float, float] | None) -> TimeAxis:
    """The axis for these rows; ``window`` is the part of it that is shown."""
    instants = [at for row in rows for span in row.spans for at in (span.start, span.end)]
    instants += [mark.at for row in rows for mark in row.marks]
    latest = max([end, *(span.end for row in rows for span in row.spans)])
    if window is not None:
        return TimeAxis(*window, instants, origin=start)
    return TimeAxis(start, latest, instants)


def _parts(instants: Sequence[float]) -> list[AxisPart]:
    stretches = list(pairwise(instants))
    long = sorted((stretch for stretch in stretches if stretch[1] - stretch[0] > FOLDED_FROM), key=_length)
    folded = set(long[-MOST_FOLDS:])
    if len(folded) == len(stretches):
        folded = set()
    joined = _joined(stretches, folded)
    linear = sum(end - start for start, end, is_folded in joined if not is_folded) or 1.0
    room = 100.0 - FOLD_WIDTH * sum(is_folded for _, _, is_folded in joined)
    parts: list[AxisPart] = []
    left = 0.0
    for start, end, is_folded in joined:
        right = left + (FOLD_WIDTH if is_folded else room * (end - start) / linear)
        parts.append(AxisPart(start, end, left, right, is_folded))
        left = right
    return parts


def _joined(
    stretches: Sequence[tuple[float, float]], folded: set[tuple[float, float]]
) -> list[tuple[float, float, bool]]:
    """Merges neighbouring stretches that are not folded."""
    found: list[tuple[float, float, bool]] = []
    for start, end in stretches:
        is_folded = (start, end) in folded
        if found and not is_folded and not found[-1][2]:
            found[-1] = (found[-1][0], end, False)
        else:
            found.append((start, end, is_folded))
    return found


def _length(stretch: tuple[float, float]) -> float:
    return stretch[1] - stretch[0]


def _label(seconds: float) -> str:
    return "0" if abs(seconds) < 1e-9 else f"+{durations.text(seconds)}"
