"""The span in which a task is submitted: kept as the search attribute ``traceparent``, and linked to by the task's."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from itertools import islice
from typing import Any

from stepward.model.tasks.attributes import MOST_ATTRIBUTES, AttributeValue
from stepward.model.tracing.span_ids import SAMPLED, W3C, task_span_id, trace_id

API = "opentelemetry.trace"
"""The module that an application has imported if it traces; where it has not, submissions ask nothing of this one."""
TRACEPARENT = "traceparent"
"""The attribute of a task, and of a message, that holds the span of its submission."""
TRACER = "stepward"
MOST_LINKS = 100
"""Most tasks that the span of a submission of many links to."""
UNTRACED: AbstractContextManager[object] = nullcontext()


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
