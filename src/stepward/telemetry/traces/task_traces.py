"""The work of a process's actors as spans: of each attempt, each task, and each request that an Agent performs.

A span is made when it has ended, from what the records hold: nothing is kept for it meanwhile but the start of an
attempt, which a process that takes the task over reads from its row. The ids are those of
``model/tracing/span_ids.py``. No payload and no message of an error is in a span.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from stepward.events import Event
from stepward.model.messages.requests import Outcome, Request
from stepward.model.records import Task
from stepward.model.states import StepState, TaskState
from stepward.model.tasks.attributes import decoded
from stepward.model.tracing.span_ids import W3C, attempt_span_id, task_span_id, trace_id
from stepward.model.tracing.submission_span import TRACEPARENT
from stepward.payload import readable
from stepward.store.contract import TaskMove
from stepward.telemetry.traces.spans import OtlpKind, SpanIds, SpanPeriod, SpanWriter

MOST_TASKS = 10_000
"""Tasks whose ids are kept as bytes."""
MOST_RUNNING = 200_000
"""Most running attempts whose start is remembered; the oldest beyond that have no span."""
TracedStep = tuple[str, int, str]
"""Task, run and key of a step."""
LOST = "NoOutcome"
"""The status of an attempt that had no outcome when the next one began."""


class TaskTraces:
    """Writes a span for each attempt and task of the Scheduler here, and for what Agents perform that are asked over a
    queue (``agents_apart``): with Agents in the Scheduler's own memory an attempt is nothing else."""

    def __init__(self, spans: SpanWriter, *, agents_apart: bool) -> None:
        self._spans = spans
        self._started: dict[TracedStep, tuple[int, float]] = {}
        self._handlers: dict[str, Callable[[Mapping[str, Any]], None]] = {
            "turn.committed": self._turn,
            "attempt.taken_over": self._taken_over,
            **({"agent.attempted": self._performed} if agents_apart else {}),
        }

    def __call__(self, event: Event) -> None:
        """Write the spans of what ``event`` reports as ended."""
        handler = self._handlers.get(event.name)
        if handler is not None:
            handler(event.fields)

    def _turn(self, fields: Mapping[str, Any]) -> None:
        started = self._started
        for place, attempt, at in fields["started"]:
            former = started.get(place)
            if former is not None and former[0] < attempt:
                self._attempt(place, former[0], SpanPeriod(former[1], at, LOST))
            started[place] = attempt, at
        for place, finish in fields["finished"]:
            attempt, at = started.pop(place, (0, 0.0))
            if attempt:
                error = None if finish.state is StepState.COMPLETED else error_type(finish.error)
                self._attempt(place, attempt, SpanPeriod(at, finish.finished_at, error))
        for watch in fields["gave_up"]:
            attempt, at = started.pop((watch.task, watch.run, watch.key), (0, 0.0))
            if attempt:
                place = watch.task, watch.run, watch.key
                self._attempt(place, attempt, SpanPeriod(at, watch.complete_by, error_type(watch.error)))
        for task, move in fields["ended"]:
            self._task(task, move)
        while len(started) > MOST_RUNNING:
            del started[next(iter(started))]

    def _taken_over(self, fields: Mapping[str, Any]) -> None:
        self._started.setdefault(fields["place"], (fields["attempt"], fields["at"]))

    def _attempt(self, place: TracedStep, attempt: int, period: SpanPeriod) -> None:
        task, run, key = place
        trace, parent = trace_of(task)
        self._spans.attempt(SpanIds(trace, attempt_span_id(task, run, key, attempt), parent), key, attempt, period)

    def _task(self, task: Task, move: TaskMove) -> None:
        trace, span = trace_of(task.uid)
        ids = SpanIds(trace, span, _parent_of(task))
        # A turn that took the submission in may have read the clock before the submission did.
        began_at = min(task.created_at, task.started_at or task.created_at)
        period = SpanPeriod(began_at, move.at, error_type(move.error) if move.after is TaskState.ERROR else None)
        attributes = {"task.id": task.id, "workflow": task.workflow, "version": task.version, "state": str(move.after)}
        shown = {f"stepward.{name}": value for name, value in attributes.items()}
        self._spans.task(ids, task.workflow, shown, period, _submitted_in(task))

    def _performed(self, fields: Mapping[str, Any]) -> None:
        request: Request = fields["request"]
        error = None if fields["outcome"] in (Outcome.COMPLETED, Outcome.DEFERRED) else error_type(fields["error"])
        attempt = attempt_span_id(request.task, request.run, request.key, request.attempt)
        ids = SpanIds(trace_of(request.task)[0], self._spans.fresh_id(), attempt)
        name, began_at = f"{fields['operation']} at {request.agent}", fields["began_at"]
        self._spans.named(ids, name, OtlpKind.CONSUMER, SpanPeriod(began_at, began_at + fields["seconds"], error))


@lru_cache(MOST_TASKS)
def trace_of(task: str) -> tuple[bytes, bytes]:
    """The ids of a task's trace and span."""
    return bytes.fromhex(trace_id(task)), task_span_id(task)


def error_type(error: bytes | None) -> str:
    """The type of an error object: what of it is no payload."""
    found = readable(error or b"{}")
    kind = found.get("type") if isinstance(found, dict) else None
    return kind if isinstance(kind, str) and kind else "Error"


def _parent_of(task: Task) -> bytes:
    """The span of the step that started a child task, which has one attempt."""
    if task.parent is None:
        return b""
    return attempt_span_id(task.parent, task.parent_run or 1, task.parent_step or "", 1)


def _submitted_in(task: Task) -> SpanIds | None:
    """The span of the submission, if its caller traced it."""
    if TRACEPARENT.encode() not in task.attributes:
        return None
    found = W3C.fullmatch(str(decoded(task.attributes).get(TRACEPARENT)))
    return None if found is None else SpanIds(bytes.fromhex(found["trace"]), bytes.fromhex(found["span"]))
