"""When recurring tasks are due (failures row 71): time zones, changes of the clocks, outages."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from cronsim import CronSim
from msgspec.structs import replace

from stepward.errors import DeclarationError
from stepward.model.schedule import Schedule
from stepward.schedules import timetable
from stepward.schedules.nominal_times import MOST_AT_ONCE, due_times, task_id
from stepward.schedules.timetable import Timetable
from stepward.schedules.timetable import timetable as read

BERLIN = "Europe/Berlin"
HOURLY = Schedule(
    name="hourly",
    workflow="report",
    version="1",
    input=b"[]",
    cron="0 * * * *",
    timezone="UTC",
    catch_up="one",
    priority=5,
)


def at(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def shown(instants: list[float]) -> list[str]:
    return [datetime.fromtimestamp(instant, UTC).strftime("%m-%dT%H:%M") for instant in instants]


def times(cron: str, timezone: str, start: str, count: int) -> list[str]:
    table, instant, found = Timetable(cron, timezone), at(start), []
    for _ in range(count):
        instant = table.after(instant) or 0.0
        found.append(instant)
    return shown(found)


def test_nominal_times_are_of_the_time_zone() -> None:
    assert times("30 8 * * MON", BERLIN, "2026-03-16T00:00:00Z", 3) == ["03-16T07:30", "03-23T07:30", "03-30T06:30"]


def test_a_time_that_the_clocks_skip_is_fired_once_they_have_moved() -> None:
    assert times("30 2 * * *", BERLIN, "2026-03-28T12:00:00Z", 2) == ["03-29T01:00", "03-30T00:30"]


def test_a_time_that_comes_twice_is_fired_once() -> None:
    assert times("30 2 * * *", BERLIN, "2026-10-24T12:00:00Z", 2) == ["10-25T00:30", "10-26T01:30"]


def test_an_hourly_task_knows_every_hour_of_the_day_on_which_the_clocks_are_set_back() -> None:
    found = times("0 * * * *", BERLIN, "2026-10-24T23:30:00Z", 4)
    assert found == ["10-25T00:00", "10-25T01:00", "10-25T02:00", "10-25T03:00"]


@pytest.mark.parametrize("instant", ["2026-11-21T12:00:00Z", "2026-11-21T12:00:00.500Z", "2026-11-21T12:59:59.999Z"])
def test_the_last_nominal_time_may_be_now(instant: str) -> None:
    assert Timetable("0 * * * *", "UTC").last(at(instant)) == at("2026-11-21T12:00:00Z")


@pytest.mark.parametrize("day", ["2026-03-29", "2026-10-25"])
@pytest.mark.parametrize("cron", ["30 2 * * *", "15 * * * *", "*/20 1-3 * * *"])
def test_the_last_time_is_one_that_would_have_been_fired(day: str, cron: str) -> None:
    table = Timetable(cron, BERLIN)
    begin, end = at(f"{day}T00:00:00Z") - 7200, at(f"{day}T06:00:00Z")
    fired = list(table.between(table.after(begin) or 0, end))
    for minute in range(int((end - fired[0]) // 60)):
        now = fired[0] + 60 * minute + 0.5
        assert table.last(now) == max(instant for instant in fired if instant <= now)


@pytest.mark.parametrize("zone", [BERLIN, "Australia/Lord_Howe", "America/St_Johns"])
@pytest.mark.parametrize("cron", ["30 2 * * *", "15 * * * *", "*/20 1-3 * * *", "* 2 * * *"])
@pytest.mark.parametrize("day", ["2026-10-25", "2026-04-05", "2026-11-01", "2026-03-29", "2026-10-04"])
def test_the_times_to_come_are_the_same_wherever_one_begins(zone: str, cron: str, day: str) -> None:
    table = Timetable(cron, zone)
    begin = at(f"{day}T00:00:00Z") - 12 * 3600
    chain = list(table.between(table.after(begin) or 0, begin + 60 * 3600))
    for instant in range(int(begin), int(begin) + 30 * 3600, 600):
        following = table.after(instant + 0.5)
        assert following == next(each for each in chain if each > instant + 0.5)


@pytest.mark.parametrize(
    "cron", ["30 * 30 12 *", "* * 21 8 *", "0 12 30 12 *", "0 2 * * *", "* * * * *", "15 3 31 1 *"]
)
@pytest.mark.parametrize(
    ("zone", "skips"),
    [("Pacific/Apia", "2011-12-30T10:00:00Z"), ("Pacific/Kwajalein", "1993-08-21T12:00:00Z")],
)
def test_the_times_around_a_day_that_a_zone_leaves_out_are_found_and_agree(cron: str, zone: str, skips: str) -> None:
    table = Timetable(cron, zone)
    for hours in range(-30, 31, 6):
        instant = at(skips) + 3600 * hours + 0.5
        last, following = table.last(instant), table.after(instant)
        assert last is not None
        assert following is not None
        assert last <= instant < following
        assert table.after(last - 0.5) == last
        assert table.after(last) == following


def test_nothing_is_due_before_its_time() -> None:
    schedule = replace(HOURLY, next_at=at("2026-11-21T13:00:00Z"))
    assert due_times(schedule, at("2026-11-21T12:59:59Z")) == ([], schedule.next_at)


def test_a_schedule_without_a_next_time_is_over() -> None:
    assert due_times(HOURLY, at("2026-11-21T12:59:59Z")) == ([], None)


@pytest.mark.parametrize(
    ("catch_up", "fired"),
    [("one", ["11-21T15:00"]), ("all", ["11-21T13:00", "11-21T14:00", "11-21T15:00"]), ("none", [])],
)
def test_after_an_outage(catch_up: str, fired: list[str]) -> None:
    schedule = replace(HOURLY, next_at=at("2026-11-21T13:00:00Z"), catch_up=catch_up)
    due, next_at = due_times(schedule, at("2026-11-21T15:20:00Z"))
    assert shown(due) == fired
    assert next_at == at("2026-11-21T16:00:00Z")


@pytest.mark.parametrize("catch_up", ["one", "all", "none"])
def test_in_ordinary_operation_all_are_alike(catch_up: str) -> None:
    schedule = replace(HOURLY, next_at=at("2026-11-21T13:00:00Z"), catch_up=catch_up)
    due, next_at = due_times(schedule, at("2026-11-21T13:00:01.500Z"))
    assert shown(due) == ["11-21T13:00"]
    assert next_at == at("2026-11-21T14:00:00Z")


def test_after_a_long_outage_all_come_in_bounded_portions() -> None:
    schedule = replace(HOURLY, cron="* * * * *", next_at=at("2026-11-01T00:00:00Z"), catch_up="all")
    due, next_at = due_times(schedule, at("2026-11-21T00:00:00Z"))
    assert len(due) == MOST_AT_ONCE
    assert next_at == due[-1] + 60


def test_an_outage_of_years_costs_one_step_to_catch_up_with_one() -> None:
    schedule = replace(HOURLY, cron="* * * * *", next_at=at("1990-01-01T00:00:00Z"))
    due, _ = due_times(schedule, at("2026-11-21T00:00:30Z"))
    assert shown(due) == ["11-21T00:00"]


def test_ids_name_the_nominal_time() -> None:
    assert task_id("nightly", at("2026-11-22T02:00:00+01:00")) == "nightly@2026-11-22T01:00:00Z"


@pytest.mark.parametrize(
    "cron",
    ["", "61 * * * *", "* * * *", "0 0 30 2 *", "every hour", None, 5, "0 0 2 * * *", "0 2 * * *\n", " 0 2 * * *"],
)
def test_a_cron_expression_that_cannot_be_read_is_refused(cron: str) -> None:
    with pytest.raises(DeclarationError, match="cron: expected five fields"):
        Timetable(cron, "UTC")


@pytest.mark.parametrize("timezone", ["", "Berlin", "../../etc/passwd", None, "Mars/Olympus"])
def test_an_unknown_time_zone_is_refused(timezone: str) -> None:
    with pytest.raises(DeclarationError, match="timezone: expected a name such as Europe/Berlin"):
        Timetable("0 2 * * *", timezone)


FIXED = ["30 2 * * *", "0 2,3 * * *", "15,45 2 * * *", "0 1-4 * * *", "30 2 * * SUN", "5-10 2 * * *", "10 0,1,2 * * *"]
BY_INTERVAL = ["* * * * *", "0 * * * *", "*/30 2 * * *", "* 2 * * *", "*/20 1-3 * * *", "0 */2 * * *", "15 */1 * * *"]
CHANGES = [
    (BERLIN, "2026-03-29"), (BERLIN, "2026-10-25"), ("America/New_York", "2026-03-08"),
    ("America/New_York", "2026-11-01"), ("Australia/Lord_Howe", "2026-04-05"), ("Australia/Lord_Howe", "2026-10-04"),
]  # fmt: skip


def matching(cron: str, moment: datetime) -> bool:
    """Whether a time of the clock on the wall fits the fields that these tests use."""
    minute, hour, _, _, weekday = cron.split()
    day_fits = weekday == "*" or moment.strftime("%a").upper() == weekday
    return day_fits and moment.minute in numbers(minute, 60) and moment.hour in numbers(hour, 24)


def numbers(field: str, end: int) -> set[int]:
    found: set[int] = set()
    for part in field.split(","):
        span, _, step = part.partition("/")
        first, _, last = span.partition("-")
        low, high = (0, end - 1) if span == "*" else (int(first), int(last or first))
        found |= set(range(low, high + 1, int(step or 1)))
    return found


def around(day: str) -> tuple[float, float]:
    return at(f"{day}T00:00:00Z") - 86400, at(f"{day}T00:00:00Z") + 86400


def found(cron: str, zone: str, day: str) -> list[float]:
    begin, end = around(day)
    table = Timetable(cron, zone)
    return list(table.between(table.after(begin) or 0, end))


@pytest.mark.parametrize(("zone", "day"), CHANGES)
@pytest.mark.parametrize("cron", BY_INTERVAL)
def test_a_line_by_the_interval_is_fired_whenever_the_clock_shows_its_time(cron: str, zone: str, day: str) -> None:
    begin, end = around(day)
    minutes = range(int(begin) + 60, int(end) + 60, 60)
    assert found(cron, zone, day) == [
        minute for minute in minutes if matching(cron, datetime.fromtimestamp(minute, ZoneInfo(zone)))
    ]


@pytest.mark.parametrize(("zone", "day"), CHANGES)
@pytest.mark.parametrize("cron", FIXED)
def test_a_line_of_fixed_times_is_fired_once_for_each_and_late_where_it_is_skipped(
    cron: str, zone: str, day: str
) -> None:
    begin, end = around(day)
    wanted = set()
    for minute in range(int(begin) - 2 * 86400, int(end) + 2 * 86400, 60):
        naive = datetime.fromtimestamp(minute, UTC).replace(tzinfo=None)
        if matching(cron, naive):
            instant = naive.replace(tzinfo=ZoneInfo(zone)).timestamp()
            shown_then = datetime.fromtimestamp(instant, ZoneInfo(zone)).replace(tzinfo=None)
            wanted.add(instant if shown_then == naive else moved(instant, zone))
    assert found(cron, zone, day) == sorted(instant for instant in wanted if begin < instant <= end)


def moved(near: float, zone: str) -> float:
    """When the clocks were changed, about then."""

    def offset(instant: float) -> object:
        return datetime.fromtimestamp(instant, ZoneInfo(zone)).utcoffset()

    return next(each for each in range(int(near) - 7200, int(near) + 7200, 60) if offset(each) != offset(each - 60))


def test_schedules_of_one_expression_that_are_due_together_search_its_times_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    searches: list[object] = []

    def counted(*args: Any, **more: Any) -> CronSim:
        searches.append(args)
        return CronSim(*args, **more)

    first = at("2031-03-01T12:05:00Z")
    schedule = replace(HOURLY, cron="5 * * * *", next_at=first)
    read(schedule.cron, schedule.timezone)
    monkeypatch.setattr(timetable, "CronSim", counted)
    assert [due_times(schedule, first + 1) for _ in range(100)] == [([first], first + 3600)] * 100
    assert len(searches) == 1


@pytest.mark.parametrize("cron", ["* * * * *", "0-59 0-23 * * *"])
@pytest.mark.parametrize(("late", "most"), [(1, 1), (90, 4), (3 * 3600, 4)])
def test_a_firing_computes_few_times_of_its_expression(
    monkeypatch: pytest.MonkeyPatch, cron: str, late: float, most: int
) -> None:
    first = at("2026-06-01T12:00:00Z")
    steps, proceed = [0], CronSim.__next__

    def counted(search: CronSim) -> datetime:
        steps[0] += 1
        return proceed(search)

    read.cache_clear()
    monkeypatch.setattr(CronSim, "__next__", counted)
    due, next_at = due_times(replace(HOURLY, cron=cron, timezone=BERLIN, next_at=first), first + late)
    expected = first + late // 60 * 60
    assert (due, next_at) == ([expected], expected + 60)
    assert steps[0] <= most
