"""The stretches of time of a step, from its row and from the decisions that the audit holds on it.

The row tells when the present attempt began; a decision tells when the attempt before it was given up. How long such an
attempt may have taken is known, so that its start is reckoned back and said to be.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from stepward.console.timeline.spans import MarkKind, SpanEnd, SpanKind, TimelineMark, TimelineSpan
from stepward.model.failures import EXPIRED, read
from stepward.model.records import Audit, Step
from stepward.model.states import StepKind, StepState
from stepward.payload import displayed
from stepward.views.reasons.attempt_errors import attempts_of, one_line
from stepward.views.times import span

DECISIONS = frozenset({"repeat", "fail", "undo", "raise"})
"""Acts of the audit that end an attempt."""
WORDS = {"fail": "alert", "undo": "undo", "raise": "raise"}
LONG_WAIT = 600.0
"""Seconds from which the pause before the next attempt is a wait that operators notice."""
SHORTEST = 0.05
"""Seconds below which a wait is not drawn."""
MOST_DECISIONS = 50
"""Of one step; the latest are drawn."""
OWN_TIME = frozenset({StepKind.TIMER, StepKind.SIGNAL, StepKind.VALUE})
"""Steps of the Scheduler's own: what is recorded is their end."""
ENDS = {
    StepState.COMPLETED: SpanEnd.DONE,
    StepState.UNDONE: SpanEnd.DONE,
    StepState.SKIPPED: SpanEnd.DONE,
    StepState.FAILED: SpanEnd.FAILED,
    StepState.ABANDONED: SpanEnd.DOUBT,
    StepState.TO_REPEAT: SpanEnd.DOUBT,
    StepState.RUNNING: SpanEnd.OPEN,
}


def decisions_on(audits: Iterable[Audit]) -> dict[tuple[int, str], list[Audit]]:
    """By run and key of the step, the decisions that ended its attempts, oldest first."""
    found: dict[tuple[int, str], list[Audit]] = {}
    for audit in sorted(audits, key=lambda audit: audit.number):
        details = displayed(audit.details)
        if audit.act in DECISIONS and audit.step is not None and isinstance(details, dict) and "attempt" in details:
            found.setdefault((int(details.get("run") or 1), audit.step), []).append(audit)
    return found


def spans_of(step: Step, decisions: Sequence[Audit], asked_at: float, now: float) -> tuple[TimelineSpan, ...]:
    """What the step's time was spent on, in order."""
    if step.kind in OWN_TIME:
        return _own_time(step, asked_at, now)
    errors = {error.get("attempt", step.attempt): error for error in attempts_of(read(step.error))}
    spans: list[TimelineSpan] = []
    at = asked_at
    for decision in decisions[-MOST_DECISIONS:]:
        number = _attempt(decision)
        if number >= step.attempt and step.started_at is not None:
            continue
        start = max(at, decision.at - (step.complete_seconds or 0.0)) if step.complete_seconds else at
        spans += _wait(at, start, is_first=not spans)
        spans.append(_given_up(number, start, decision.at, errors.get(number, {})))
        at = decision.at
    return (*spans, *_present(step, decisions, at, now, errors.get(step.attempt, {}), is_first=not spans))


def marks_of(step: Step, decisions: Sequence[Audit], starts: Sequence[float]) -> tuple[TimelineMark, ...]:
    """The Supervisor's decisions on the step, its complete-by and its last progress."""
    marks = [
        TimelineMark(kind=MarkKind.DECISION, at=decision.at, word=_word(decision, step, starts))
        for decision in decisions[-MOST_DECISIONS:]
    ]
    if step.complete_by is not None and step.state is StepState.RUNNING:
        marks.append(TimelineMark(kind=MarkKind.COMPLETE_BY, at=step.complete_by, word="complete by"))
    if step.progress_at is not None:
        marks.append(TimelineMark(kind=MarkKind.PROGRESS, at=step.progress_at, word="progress"))
    return tuple(marks)


def _own_time(step: Step, asked_at: float, now: float) -> tuple[TimelineSpan, ...]:
    end = step.finished_at
    outcome = ENDS.get(step.state, SpanEnd.OPEN)
    start = asked_at if step.kind is not StepKind.VALUE else (step.started_at or asked_at)
    if step.kind is StepKind.VALUE and end is None:
        return ()
    return (TimelineSpan(kind=SpanKind.SLEEP, start=start, end=now if end is None else end, outcome=outcome),)


def _present(
    step: Step, decisions: Sequence[Audit], at: float, now: float, error: dict[str, Any], *, is_first: bool
) -> list[TimelineSpan]:
    """The attempt that the row tells of, and what is before and after it."""
    if step.started_at is None or step.attempt == 0:
        waiting = step.state is StepState.NOT_STARTED and bool(step.input)
        return _wait(at, now, is_first=True, is_open=True) if waiting else []
    spans = _wait(at, step.started_at, is_first=is_first)
    end = _end(step, decisions, now)
    until = end if step.deferred_at is None else max(step.started_at, min(end, step.deferred_at))
    outcome = SpanEnd.DOUBT if step.in_doubt and step.state is StepState.FAILED else ENDS.get(step.state, SpanEnd.OPEN)
    if step.state is StepState.TO_REPEAT and error and error.get("type") != EXPIRED:
        outcome = SpanEnd.FAILED
    spans.append(
        TimelineSpan(
            kind=SpanKind.ATTEMPT,
            start=step.started_at,
            end=until,
            outcome=outcome if until == end else SpanEnd.DONE,
            attempt=step.attempt,
            error=one_line(error) if error.get("message") else "",
        )
    )
    if until < end:
        spans.append(TimelineSpan(kind=SpanKind.OUTSIDE, start=until, end=end, outcome=outcome, attempt=step.attempt))
    if step.state is StepState.TO_REPEAT and step.repeat_at is not None and step.repeat_at > end:
        spans.append(TimelineSpan(kind=SpanKind.PAUSE, start=end, end=step.repeat_at, outcome=SpanEnd.OPEN))
    return spans


def _end(step: Step, decisions: Sequence[Audit], now: float) -> float:
    if step.finished_at is not None:
        return step.finished_at
    ended = [decision.at for decision in decisions if _attempt(decision) == step.attempt]
    return ended[-1] if ended else max(now, step.started_at or now)


def _given_up(number: int, start: float, end: float, error: dict[str, Any]) -> TimelineSpan:
    failed = bool(error.get("message")) and error.get("type") != EXPIRED
    return TimelineSpan(
        kind=SpanKind.ATTEMPT,
        start=start,
        end=end,
        outcome=SpanEnd.FAILED if failed else SpanEnd.DOUBT,
        attempt=number,
        is_about=True,
        error=one_line(error) if error.get("message") else "",
    )


def _wait(start: float, end: float, *, is_first: bool, is_open: bool = False) -> list[TimelineSpan]:
    if end - start < SHORTEST:
        return []
    kind = SpanKind.ROOM if is_first else SpanKind.PAUSE
    return [TimelineSpan(kind=kind, start=start, end=end, outcome=SpanEnd.OPEN if is_open else SpanEnd.DONE)]


def _word(decision: Audit, step: Step, starts: Sequence[float]) -> str:
    """What the Supervisor decided, in the pattern's words."""
    if decision.act != "repeat":
        return WORDS[decision.act]
    following = [start for start in starts if start > decision.at]
    until = following[0] if following else step.repeat_at
    pause = 0.0 if until is None else until - decision.at
    return "repeat" if pause < LONG_WAIT else f"wait {span(pause)}"


def _attempt(decision: Audit) -> int:
    details = displayed(decision.details)
    found = details.get("attempt") if isinstance(details, dict) else None
    return found if isinstance(found, int) else 0
