"""The nominal times of a schedule in words."""

from __future__ import annotations

from datetime import datetime

from stepward import durations
from stepward.errors import InvalidDuration
from stepward.schedules.timetable import AT, EVERY
from stepward.views.times import clock


def nominal(cron: str) -> str:
    """When a schedule is due: its cron expression, ``every 1h``, or ``once at 2030-01-31 12:00:00 UTC``."""
    try:
        if cron.startswith(EVERY):
            return f"every {durations.text(durations.seconds(cron.removeprefix(EVERY)))}"
        if cron.startswith(AT):
            return f"once at {clock(datetime.fromisoformat(cron.removeprefix(AT)).timestamp())}"
    except (InvalidDuration, ValueError):
        return cron
    return cron
