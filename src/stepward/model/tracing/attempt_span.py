"""The span of an attempt, which is the parent of those that the application begins within it."""

from __future__ import annotations

import sys
from typing import Any

from stepward.model.tracing.span_ids import SAMPLED, W3C
from stepward.model.tracing.submission_span import API


def enter_attempt(traceparent: str) -> None:
    """Make an attempt the parent of the spans that the application begins in this context, if it traces."""
    api: Any = sys.modules.get(API)
    found = W3C.fullmatch(traceparent)
    if api is None or found is None:
        return
    from opentelemetry import context  # noqa: PLC0415  the application has imported it

    attempt = api.SpanContext(int(found["trace"], 16), int(found["span"], 16), True, api.TraceFlags(SAMPLED))
    context.attach(api.set_span_in_context(api.NonRecordingSpan(attempt)))
