"""Instants in filters: ``2h ago``, ``in 30m``, ``now``, or a date with or without a time."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from stepward.durations import seconds
from stepward.errors import InvalidDuration

RELATIVE = re.compile(r"(?P<ago>[0-9][0-9.a-z ]*?) +ago|in +(?P<ahead>[0-9][0-9.a-z ]*)")
DATE = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
    r"([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?(Z|[+-][0-9]{2}:?[0-9]{2})?)?"
)


def instant(text: str, now: float) -> float | None:
    """Seconds of the store's clock; None for a text that is not an instant. Without a zone a time is UTC."""
    text = text.strip()
    if text == "now":
        return now
    if found := RELATIVE.fullmatch(text):
        return _relative(found, now)
    if not DATE.fullmatch(text):
        return None
    try:
        at = datetime.fromisoformat(text)
        return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


def _relative(found: re.Match[str], now: float) -> float | None:
    ago, ahead = found["ago"], found["ahead"]
    try:
        return now - seconds(ago, zero=True) if ago is not None else now + seconds(ahead, zero=True)
    except InvalidDuration:
        return None
