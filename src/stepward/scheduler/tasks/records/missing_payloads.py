"""Payloads of a record that are kept outside the store and could not be fetched."""

from __future__ import annotations

from collections.abc import Iterator

from stepward.model.records import History
from stepward.payload.references import is_elsewhere
from stepward.payload.sealed import UNOPENED, as_stored, why_unopened


def unfetched(history: History) -> str | None:
    """Why the record is not whole; None if it is. No code runs on such a record, as it could not go on as it did."""
    for data in _payloads(history):
        if data is not None and data.startswith(UNOPENED) and is_elsewhere(as_stored(data) or b""):
            return why_unopened(data)
    return None


def _payloads(history: History) -> Iterator[bytes | None]:
    yield history.task.input
    for step in history.steps:
        yield step.input
        yield step.output
