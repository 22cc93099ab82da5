"""When recurring tasks are due: cron expressions in a time zone, computed by ``cronsim`` as Debian's cron does.

An expression whose minutes or hours begin with ``*`` is an interval: it is due whenever the local clock shows one of
its times, twice if that time occurs twice. Any other expression names fixed times: a time that a clock change skips is
due right after the change, a time that occurs twice is due once. Pure: instants in, instants out, in seconds.
"""

from __future__ import annotations

import itertools
import math
from bisect import bisect_left
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache
from typing import Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cronsim import CronSim, CronSimError

from stepward.errors import DeclarationError
from stepward.model.records import Schedule

CatchUp = Literal["one", "all", "none"]
"""The handling of nominal times missed in an outage: fire the last one, all, or none."""
CATCH_UPS = ("one", "all", "none")
LATE_SECONDS = 60.0
"""Seconds after which a nominal time counts as missed."""
FIELDS = 5
"""Fields of an expression. The library also reads a sixth for seconds, which no task needs."""
MOST_AT_ONCE = 1_000
CHANGE_SECONDS = 3 * 3600.0
"""The longest change of a clock, in seconds."""
DAY_SECONDS = 86_400
"""The shortest time between two clock changes, in seconds."""


class Timetable:
    """The nominal times of a cron expression. Raises DeclarationError for one that cannot be read."""

    def __init__(self, cron: str, timezone: str) -> None:
        self._cron = cron
        try:
            self._zone = ZoneInfo(timezone)
        except (ZoneInfoNotFoundError, ValueError, OSError, TypeError):
            raise DeclarationError(
                f"timezone: expected a name such as Europe/Berlin or UTC, found {timezone!r:.100}"
            ) from None
        try:
            if len(cron.split()) != FIELDS or cron != cron.strip():
                raise CronSimError("other than five fields")
            CronSim(cron, datetime.fromtimestamp(0, self._zone))
            self._by_interval = any(field.startswith("*") for field in cron.split()[:2])
        except (CronSimError, AttributeError, TypeError) as error:
            raise DeclarationError(
                f"cron: expected five fields such as '0 2 * * *', found {cron!r:.100}: {error}"
            ) from None

    def after(self, instant: float) -> float | None:
        """The first nominal time after ``instant``; None if there is none within half a century."""
        return next(self._chain(instant), None)

    def last(self, instant: float) -> float | None:
        """The last nominal time up to ``instant``."""
        # Backwards from the second after, because the start itself is never yielded. Near a clock change the library
        # finds other times backwards than forwards: the times that are fired are those found forwards.
        near = next(self._times(math.floor(instant) + 1, backwards=True), None)
        if near is None:
            return None
        found = list(itertools.takewhile(lambda each: each <= instant, self._chain(near - CHANGE_SECONDS)))
        return found[-1] if found else near

    def between(self, first: float, until: float) -> Iterator[float]:
        """The nominal times from ``first``, which is one, up to ``until``."""
        times = itertools.chain([first], self._chain(first))
        return itertools.takewhile(lambda each: each <= until, times)

    def _chain(self, instant: float) -> Iterator[float]:
        """The nominal times after ``instant``, in order, the same from every starting point.

        Within an hour that occurs twice the library begins with the times of its first occurrence, so the search begins
        before it.
        """
        last = instant
        for each in self._shown(instant) if self._by_interval else self._times(instant - CHANGE_SECONDS):
            if each > last:
                last = each
                yield each

    def _shown(self, instant: float) -> Iterator[float]:
        """The instants after ``instant`` at which the local clock shows a time of the expression.

        The library is used between two clock changes; across one it is not always right.
        """
        last, offset = instant, self._offset(instant)
        change: float | None = instant
        while change is not None:
            change = None
            for found in CronSim(self._cron, datetime.fromtimestamp(last, timezone(offset))):
                each = found.timestamp()
                change = self._changed(last, each, offset)
                if change is not None:
                    last, offset = change - 1, self._offset(change)
                    break
                yield each
                last = each

    def _changed(self, after: float, until: float, offset: timedelta) -> float | None:
        """The first clock change from that offset, if it is no later than ``until``."""
        low = after
        while low < until:
            high = min(low + DAY_SECONDS, until)
            if self._offset(high) != offset:
                change = bisect_left(range(int(high) - int(low)), 1, key=lambda n: self._offset(int(low) + n) != offset)
                return int(low) + change
            low = high
        return None

    def _offset(self, instant: float) -> timedelta:
        return datetime.fromtimestamp(instant, self._zone).utcoffset() or timedelta()

    def _times(self, instant: float, *, backwards: bool = False) -> Iterator[float]:
        start = datetime.fromtimestamp(instant, UTC).astimezone(self._zone)
        return (each.timestamp() for each in CronSim(self._cron, start, reverse=backwards))


@lru_cache(maxsize=1_000)
def timetable(cron: str, timezone: str) -> Timetable:
    """The timetable of an expression, read once."""
    return Timetable(cron, timezone)


def due_times(schedule: Schedule, now: float) -> tuple[list[float], float | None]:
    """The nominal times to fire now, at most 1,000, and the next one to look at after them."""
    times = timetable(schedule.cron, schedule.timezone)
    first = schedule.next_at
    if first is None or first > now:
        return [], first
    if schedule.catch_up == "all":
        due = [instant for instant, _ in zip(times.between(first, now), range(MOST_AT_ONCE), strict=False)]
        return due, times.after(due[-1])
    last = max(first, times.last(now) or first)
    missed = schedule.catch_up == "none" and now - last > LATE_SECONDS
    return ([] if missed else [last]), times.after(max(last, now) if missed else last)


def task_id(name: str, instant: float) -> str:
    """The id of the task of one nominal time: unique, so that it cannot be fired twice."""
    return f"{name}@{datetime.fromtimestamp(instant, UTC):%Y-%m-%dT%H:%M:%SZ}"
