"""What is drawn of one step: stretches of time and instants, as plain data."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from stepward.model.states import StepKind, StepState


class SpanKind(StrEnum):
    """What a stretch of time was spent on."""

    ROOM = "room"
    """The step was asked for and its Agent had no room."""
    ATTEMPT = "attempt"
    PAUSE = "pause"
    """Between an attempt that did not end well and the next one."""
    SLEEP = "sleep"
    """A timer, or the wait for a signal."""
    OUTSIDE = "outside"
    """The Agent has done its part; the step is finished from outside."""


class SpanEnd(StrEnum):
    """How a stretch ended."""

    DONE = "done"
    FAILED = "failed"
    DOUBT = "doubt"
    """It is unknown whether the attempt acted."""
    OPEN = "open"
    """It has not ended."""


class TimelineSpan(Struct, frozen=True, kw_only=True):
    """A stretch of time of a step; instants in seconds of the store's clock."""

    kind: SpanKind
    start: float
    end: float
    outcome: SpanEnd = SpanEnd.DONE
    attempt: int = 0
    is_about: bool = False
    """Whether the start is reckoned: the store keeps when the last attempt began, of earlier ones when they ended."""
    told: str = ""
    """The error that the attempt reported, if it failed."""


class MarkKind(StrEnum):
    """What an instant stands for."""

    DECISION = "decision"
    COMPLETE_BY = "complete-by"
    PROGRESS = "progress"


class TimelineMark(Struct, frozen=True, kw_only=True):
    """An instant of a step, with its word."""

    kind: MarkKind
    at: float
    word: str


class TimelineRow(Struct, frozen=True, kw_only=True):
    """One step, or steps of one name together."""

    key: str
    run: int
    name: str
    kind: StepKind
    state: StepState
    depth: int = 0
    """1 for an undo, below the step that it undoes."""
    agent: str | None = None
    instance: str | None = None
    """Who works on it, where that is known."""
    attempt: int = 0
    idempotency_key: str = ""
    spans: tuple[TimelineSpan, ...] = ()
    marks: tuple[TimelineMark, ...] = ()
    child: str | None = None
    """The id of the child task that the step is."""
    is_set_aside: bool = False
    is_in_doubt: bool = False
    group: str = ""
    """For steps together: how many there are and how they ended."""
