"""Payloads of a record that are kept outside the store and could not be fetched."""

from __future__ import annotations

from stepward.model.records import History
from stepward.payload.references import is_elsewhere
from stepward.payload.sealed import UNOPENED, as_stored, why_unopened


def unfetched(history: History) -> str | None:
    """Why the record is not whole; None if it is. No code runs on such a record, as it could not go on as it did."""
    payloads = [history.task.input, *[step.input for step in history.steps]]
    payloads += [step.output for step in history.steps if step.output is not None]
    for data in [data for data in payloads if data.startswith(UNOPENED)]:
        if is_elsewhere(as_stored(data) or b""):
            return why_unopened(data)
    return None
