"""The headers with which a step calls a remote service."""

from __future__ import annotations

from datetime import UTC, datetime

from stepward.model.messages.requests import Request, traceparent


def step_headers(request: Request) -> dict[str, str]:
    """The key for deduplication, the complete-by in UTC with milliseconds, the trace, and in an undo what it undoes."""
    complete_by = datetime.fromtimestamp(request.complete_by, UTC).isoformat(timespec="milliseconds")
    headers = {
        "Idempotency-Key": request.idempotency_key,
        "Stepward-Complete-By": complete_by.replace("+00:00", "Z"),
        "traceparent": traceparent(request),
    }
    if request.undoes is not None:
        headers["Stepward-Undoes"] = request.undoes
    return headers
