"""W3C trace context: the ids of a task's spans, and the span in which a task was submitted.

A task is a trace of its own. Its ids follow from what the records hold, so that every process that meets the task knows
them, also after a takeover or a restart, and nothing of them is stored. The span of the submission is kept as the
search attribute ``traceparent``; the task's span links to it.

OpenTelemetry's API is used where the application has imported it, and never imported here.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from itertools import islice
from struct import Struct as Layout
from typing import Any
from zlib import crc32

from stepward.model.tasks.attributes import MOST_ATTRIBUTES, AttributeValue

TRACEPARENT = "traceparent"
"""The attribute of a task, and of a message, that holds the span of its submission."""
W3C = re.compile(r"00-(?!0{32})(?P<trace>[0-9a-f]{32})-(?!0{16})(?P<span>[0-9a-f]{16})-(?P<flags>[0-9a-f]{2})")
API = "opentelemetry.trace"
"""The module that an application has imported if it traces; where it has not, submissions ask nothing of this one."""
TRACER = "stepward"
SAMPLED = 1
MOST_LINKS = 100
"""Most tasks that the span of a submission of many links to."""
UNTRACED: AbstractContextManager[object] = nullcontext()
UID_LENGTH = 36
packed = Layout(">IHH").pack
"""Packs the 8 bytes of a span id."""


def trace_id(task: str) -> str:
    """The trace id of the task with that uid: the uid's digits, or those of its root's for a child task."""
    return f"{task[:UID_LENGTH].replace('-', ''):0>32}"


def task_span_id(task: str) -> bytes:
    """The id of the task's span; no attempt has the number 0."""
    return packed(crc32(task.encode()) or 1, 0, 0)


def attempt_span_id(task: str, run: int, key: str, attempt: int) -> bytes:
    """The id of the span of one attempt of a step; the rest of the uid of a child task distinguishes it from its
    siblings."""
    return packed(crc32((task[UID_LENGTH:] + key).encode()), run & 0xFFFF, attempt & 0xFFFF)


def current_traceparent() -> str | None:
    """The span in which this code runs, if the application traces it."""
    api = sys.modules.get(API)
    if api is None:
        return None
    context = api.get_current_span().get_span_context()
    if not context.is_valid or not context.trace_flags.sampled:
        return None
    return f"00-{context.trace_id:032x}-{context.span_id:016x}-01"


def producing(name: str) -> AbstractContextManager[object]:
    """The span of a submission, below the caller's, if the application traces; it is the current one within."""
    api: Any = sys.modules.get(API)
    if api is None:
        return UNTRACED
    span: AbstractContextManager[object] = api.get_tracer(TRACER).start_as_current_span(
        name, kind=api.SpanKind.PRODUCER, record_exception=False, set_status_on_exception=False
    )
    return span


def lead_to(tasks: Iterable[str]) -> None:
    """Link the span of a submission to those of the tasks with these uids."""
    api: Any = sys.modules.get(API)
    if api is None or not (span := api.get_current_span()).is_recording():
        return
    for task in islice(tasks, MOST_LINKS):
        ids = int(trace_id(task), 16), int.from_bytes(task_span_id(task), "big")
        span.add_link(api.SpanContext(*ids, True, api.TraceFlags(SAMPLED)))


def linked(attributes: Mapping[str, AttributeValue] | None, traceparent: object) -> Mapping[str, AttributeValue] | None:
    """The attributes of a submission with its span, if there is one, and room for it."""
    known = attributes or {}
    if not isinstance(traceparent, str) or not W3C.fullmatch(traceparent):
        return attributes
    if not isinstance(known, Mapping) or TRACEPARENT in known or len(known) >= MOST_ATTRIBUTES:
        return attributes
    return {**known, TRACEPARENT: traceparent}


def enter_attempt(traceparent: str) -> None:
    """Make an attempt the parent of the spans that the application begins in this context, if it traces."""
    api: Any = sys.modules.get(API)
    found = W3C.fullmatch(traceparent)
    if api is None or found is None:
        return
    from opentelemetry import context  # noqa: PLC0415  the application has imported it

    attempt = api.SpanContext(int(found["trace"], 16), int(found["span"], 16), True, api.TraceFlags(SAMPLED))
    context.attach(api.set_span_in_context(api.NonRecordingSpan(attempt)))
