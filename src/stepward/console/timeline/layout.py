"""The layout of a timeline: every row with the positions of its bars and marks, in percent of the width."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from stepward import durations
from stepward.console.timeline.axis import AxisPart, AxisTick, TimeAxis
from stepward.console.timeline.spans import MarkKind, SpanEnd, SpanKind, TimelineMark, TimelineRow, TimelineSpan
from stepward.model.states import StepKind
from stepward.views.times import clock

LEAST_WIDTH = 0.15
"""The width of the shortest bar, in percent."""
WORDS = {
    SpanKind.ROOM: "waited for room at its Agent",
    SpanKind.ATTEMPT: "attempt",
    SpanKind.PAUSE: "pause before the next attempt",
    SpanKind.SLEEP: "waited",
    SpanKind.OUTSIDE: "waited to be finished from outside",
}
ENDS = {
    SpanEnd.DONE: "done",
    SpanEnd.FAILED: "failed",
    SpanEnd.DOUBT: "without an outcome: it may have acted",
    SpanEnd.OPEN: "still open",
}


class DrawnBar(Struct, frozen=True, kw_only=True):
    """A span with its position and width."""

    kind: SpanKind
    left: float
    width: float
    outcome: SpanEnd
    is_about: bool
    text: str


class DrawnMark(Struct, frozen=True, kw_only=True):
    """A mark with its position."""

    kind: MarkKind
    left: float
    word: str
    text: str


class DrawnRow(Struct, frozen=True, kw_only=True):
    """A row with its bars, marks and texts."""

    row: TimelineRow
    bars: list[DrawnBar]
    marks: list[DrawnMark]
    is_back: bool
    """Whether the row is an undo."""
    text: str
    """The whole row as text."""


class Timeline(Struct, frozen=True, kw_only=True):
    """The whole layout."""

    rows: list[DrawnRow]
    ticks: list[AxisTick]
    folds: list[tuple[AxisPart, str]]
    start: float
    end: float
    now_left: float | None
    """The position of the present; None if it is outside."""
    is_zoomed: bool
    is_about: bool
    """Whether the start of some attempt is an estimate."""
    groups: list[str]
    """Names of steps that are drawn as one row."""


def drawn_timeline(rows: Sequence[TimelineRow], axis: TimeAxis, *, now: float | None, is_zoomed: bool) -> Timeline:
    """The layout of the rows; ``now`` is given for a task that has not ended."""
    drawn = [_row(row, axis) for row in rows]
    return Timeline(
        rows=drawn,
        ticks=axis.ticks(),
        folds=[(part, durations.text(part.end - part.start)) for part in axis.folds],
        start=axis.start,
        end=axis.end,
        now_left=axis.position(now) if now is not None and axis.start < now < axis.end else None,
        is_zoomed=is_zoomed,
        is_about=any(span.is_about for row in rows for span in row.spans),
        groups=[row.name for row in rows if row.group],
    )


def _row(row: TimelineRow, axis: TimeAxis) -> DrawnRow:
    bars = [bar for span in row.spans if (bar := _bar(span, axis)) is not None]
    marks = [_mark(mark, axis) for mark in row.marks if axis.start <= mark.at <= axis.end]
    text = [row.group or f"{row.key}, {row.state}", *(bar.text for bar in bars), *(mark.text for mark in marks)]
    return DrawnRow(row=row, bars=bars, marks=marks, is_back=row.kind is StepKind.UNDO, text="; ".join(text))


def _bar(span: TimelineSpan, axis: TimeAxis) -> DrawnBar | None:
    if span.end < axis.start or span.start > axis.end:
        return None
    left = axis.position(span.start)
    return DrawnBar(
        kind=span.kind,
        left=left,
        width=max(LEAST_WIDTH, axis.position(span.end) - left),
        outcome=span.outcome,
        is_about=span.is_about,
        text=_text(span),
    )


def _text(span: TimelineSpan) -> str:
    word = f"attempt {span.attempt}" if span.kind is SpanKind.ATTEMPT and span.attempt else WORDS[span.kind]
    about = "about " if span.is_about else ""
    text = f"{word}, {about}{durations.text(max(0.0, span.end - span.start))}"
    if span.kind is SpanKind.ATTEMPT and span.attempt:
        text += f", {ENDS[span.outcome]}"
    return f"{text}: {span.error}" if span.error else text


def _mark(mark: TimelineMark, axis: TimeAxis) -> DrawnMark:
    text = f"Supervisor: {mark.word}" if mark.kind is MarkKind.DECISION else mark.word
    return DrawnMark(kind=mark.kind, left=axis.position(mark.at), word=mark.word, text=f"{text}, {clock(mark.at)}")
