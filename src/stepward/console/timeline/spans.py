"""The data of a timeline's row: spans of time and marks."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from stepward.model.states import StepKind, StepState


class SpanKind(StrEnum):
    """What a span of time was spent on."""

    ROOM = "room"
    """The step was requested and its Agent had no free window."""
    ATTEMPT = "attempt"
    PAUSE = "pause"
    """The delay between a failed attempt and the next."""
    SLEEP = "sleep"
    """A timer, or the wait for a signal."""
    OUTSIDE = "outside"
    """The Agent has deferred the attempt; the step is finished from outside."""


class SpanEnd(StrEnum):
    """How a span ended."""

    DONE = "done"
    FAILED = "failed"
    DOUBT = "doubt"
    """It is unknown whether the attempt was executed."""
    OPEN = "open"
    """The span has not ended."""


class TimelineSpan(Struct, frozen=True, kw_only=True):
    """A span of a step; instants in seconds of the store's clock."""

    kind: SpanKind
    start: float
    end: float
    outcome: SpanEnd = SpanEnd.DONE
    attempt: int = 0
    is_about: bool = False
    """Whether the start is an estimate: the store keeps the start of the last attempt only, and of earlier ones
    their end."""
    error: str = ""
    """The error that the attempt reported, if it failed."""


class MarkKind(StrEnum):
    """What a mark stands for."""

    DECISION = "decision"
    COMPLETE_BY = "complete-by"
    PROGRESS = "progress"


class TimelineMark(Struct, frozen=True, kw_only=True):
    """An instant of a step, with its label."""

    kind: MarkKind
    at: float
    word: str


class TimelineRow(Struct, frozen=True, kw_only=True):
    """One step, or several steps of one name."""

    key: str
    run: int
    name: str
    kind: StepKind
    state: StepState
    depth: int = 0
    """1 for an undo, below the step that it undoes."""
    agent: str | None = None
    instance: str | None = None
    """The instance that runs the step, where it is known."""
    attempt: int = 0
    idempotency_key: str = ""
    spans: tuple[TimelineSpan, ...] = ()
    marks: tuple[TimelineMark, ...] = ()
    child: str | None = None
    """The id of the child task that the step is."""
    is_set_aside: bool = False
    is_in_doubt: bool = False
    group: str = ""
    """For several steps: how many there are and how they ended."""
