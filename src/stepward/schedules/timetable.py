"""Timetables of recurring tasks: cron expressions in a time zone, intervals, instants.

Cron expressions are computed by ``cronsim`` as Debian's cron does.

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
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cronsim import CronSim, CronSimError

from stepward.durations import seconds
from stepward.errors import DeclarationError, InvalidDuration

FIELDS = 5
"""Fields of an expression. The library also reads a sixth for seconds, which no task needs."""
CHANGE_SECONDS = 3 * 3600.0
"""The longest change of a clock, in seconds."""
EVERY, AT = "every ", "at "
"""Before an interval and an instant in the place of a cron expression."""
LEAST_INTERVAL = 1.0
"""Seconds between two nominal times, at least."""
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
            self._known: tuple[float, float | None] = math.nan, None
            self._by_interval = any(field.startswith("*") for field in cron.split()[:2])
        except (CronSimError, AttributeError, TypeError) as error:
            raise DeclarationError(
                f"cron: expected five fields such as '0 2 * * *', found {cron!r:.100}: {error}"
            ) from None

    def after(self, instant: float) -> float | None:
        """The first nominal time after ``instant``; None if there is none within half a century.

        The last answer is kept: schedules of one expression are due together.
        """
        asked, known = self._known
        if asked != instant:
            known = next(self._chain(instant), None)
            self._known = instant, known
        return known

    def last(self, instant: float) -> float | None:
        """The last nominal time up to ``instant``."""
        # Backwards within one offset of the clock: across a change the library finds other times than forwards, and
        # where a zone has left out a day it comes to no end. The times that are fired are those found forwards.
        near = self._near(instant)
        if near is None or self._is_steady(near, instant):
            return near
        while near is not None:
            begin = near - CHANGE_SECONDS
            found = list(itertools.takewhile(lambda each: each <= instant, self._chain(begin)))
            if found:
                return found[-1]
            near = self._near(begin)
        return None

    def between(self, first: float, until: float) -> Iterator[float]:
        """The nominal times from ``first``, which is one, up to ``until``."""
        times = itertools.chain([first], self._chain(first))
        return itertools.takewhile(lambda each: each <= until, times)

    def _chain(self, instant: float) -> Iterator[float]:
        """The nominal times after ``instant``, in order, the same from every starting point.

        Within an hour that occurs twice the library begins with the times of its first occurrence, so near a change of
        the clock the search begins before it.
        """
        last = instant
        begin = instant if self._is_steady(instant, instant) else instant - CHANGE_SECONDS
        for each in self._shown(instant) if self._by_interval else self._times(begin):
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

    def _is_steady(self, first: float, last: float) -> bool:
        """Whether the clock changes nowhere near these instants."""
        begin, end = first - CHANGE_SECONDS, last + CHANGE_SECONDS
        return end - begin < DAY_SECONDS and self._offset(begin) == self._offset(end)

    def _offset(self, instant: float) -> timedelta:
        return datetime.fromtimestamp(instant, self._zone).utcoffset() or timedelta()

    def _times(self, instant: float) -> Iterator[float]:
        start = datetime.fromtimestamp(instant, UTC).astimezone(self._zone)
        return (each.timestamp() for each in CronSim(self._cron, start))

    def _near(self, instant: float) -> float | None:
        """The last nominal time up to ``instant`` if the clock had always had the offset of that instant."""
        # From the second after, because the library never yields the start itself.
        start = datetime.fromtimestamp(math.floor(instant) + 1, timezone(self._offset(instant)))
        return next((each.timestamp() for each in CronSim(self._cron, start, reverse=True)), None)


class Interval:
    """Nominal times at equal distances: the multiples of ``seconds`` since 1970 in UTC."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def after(self, instant: float) -> float | None:
        """The first nominal time after ``instant``."""
        return (math.floor(instant / self._seconds) + 1) * self._seconds

    def last(self, instant: float) -> float | None:
        """The last nominal time up to ``instant``."""
        return math.floor(instant / self._seconds) * self._seconds

    def between(self, first: float, until: float) -> Iterator[float]:
        """The nominal times from ``first``, which is one, up to ``until``."""
        times = (first + number * self._seconds for number in itertools.count())
        return itertools.takewhile(lambda each: each <= until, times)


class Once:
    """One nominal time."""

    def __init__(self, at: float) -> None:
        self._at = at

    def after(self, instant: float) -> float | None:
        """The nominal time, if it is after ``instant``."""
        return self._at if self._at > instant else None

    def last(self, instant: float) -> float | None:
        """The nominal time, if it is no later than ``instant``."""
        return self._at if self._at <= instant else None

    def between(self, first: float, until: float) -> Iterator[float]:
        """The nominal time ``first``, if it is no later than ``until``."""
        return iter([first] if first <= until else [])


@lru_cache(maxsize=1_000)
def timetable(cron: str, timezone: str) -> Timetable | Interval | Once:
    """The timetable of an expression, read once. Raises DeclarationError."""
    table = Timetable("0 0 * * *", timezone) if cron.startswith((EVERY, AT)) else Timetable(cron, timezone)
    if cron.startswith(EVERY):
        try:
            interval = seconds(cron.removeprefix(EVERY), "every")
        except InvalidDuration as error:
            raise DeclarationError(str(error)) from None
        if interval < LEAST_INTERVAL:
            raise DeclarationError(f"every: expected {LEAST_INTERVAL:g} s or more, found {interval:g} s; use a queue")
        return Interval(interval)
    return Once(_instant(cron.removeprefix(AT))) if cron.startswith(AT) else table


def _instant(text: str) -> float:
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        at = None
    if at is None or at.tzinfo is None:
        raise DeclarationError(f"at: expected a time such as 2027-01-15T09:00:00Z, found {text!r:.60}; add its offset")
    return at.timestamp()
