"""Instants and durations in the bodies of requests."""

from __future__ import annotations

import re
from datetime import datetime

from stepward.durations import Duration
from stepward.errors import InvalidDuration

YEAR = re.compile(r"\d{4}-")


def instant_or_duration(value: str | float | None, what: str = "complete_by") -> datetime | Duration | None:
    """An instant (``2030-01-31T12:00:00Z``), or a duration from now (``15m``, seconds). Raises InvalidDuration."""
    if not isinstance(value, str) or not YEAR.match(value):
        return value
    try:
        return datetime.fromisoformat(value)
    except ValueError:
        raise InvalidDuration(
            f"{what}: expected an instant such as 2030-01-31T12:00:00Z, found {value[:60]!r}; write one"
        ) from None
