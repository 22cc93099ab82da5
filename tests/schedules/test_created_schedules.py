"""Schedules that are created at run time: their times, overlaps of their tasks, and tasks started by hand."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from stepward import App, Client, workflow
from stepward.cli.main import cli
from stepward.client import session_of
from stepward.clock import Environment
from stepward.errors import DeclarationError, Refused, ScheduleNotFound
from tests.store.conformance.world import HandClock
from tests.store.places import execute

NINE, TEN = "report@2027-01-15T09:00:00Z", "report@2027-01-15T10:00:00Z"
HOUR = 3600


@workflow(complete_by="1d")
async def report(name: str, count: int = 1) -> str:
    return name * count


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def app(tmp_path: Path, clock: HandClock) -> App:
    environment = Environment(clock=clock, random=random.Random(1))
    return App("clockwork", workflows=[report], store=f"sqlite:///{tmp_path / 'c.db'}", environment=environment)


@pytest.fixture
async def client(app: App) -> AsyncIterator[Client]:
    async with (
        app.running(scheduler=False, agents=False, supervisor=False, submission=False),
        app.client() as client,
    ):
        yield client


async def fire(app: App, clock: HandClock, seconds: float = HOUR) -> int:
    clock.advance(seconds)
    return (await app.supervise_once()).fired


async def states(client: Client) -> dict[str, str]:
    return {task.id: task.state for task in await client.tasks()}


async def test_a_created_schedule_fires_like_a_declared_one(app: App, client: Client, clock: HandClock) -> None:
    made = await client.create_schedule("report", report, ("daily",), cron="0 * * * *", priority=7)
    assert (made.workflow, made.overlap, made.cron) == ("report", "skip", "0 * * * *")
    assert (await client.schedules()) == [made]
    assert await fire(app, clock) == 1
    record = await session_of(client).record(NINE)
    assert (record.input, record.priority) == (b'["daily",1]', 7)
    assert record.deadline == record.created_at + 86_400
    assert [audit.act for audit in await client.audits()] == ["create"]


async def test_intervals_and_single_times(app: App, client: Client, clock: HandClock) -> None:
    await client.create_schedule("often", "report", ["a"], every="30m", overlap="allow")
    await client.create_schedule("once", "report", ["b"], at=datetime(2027, 1, 15, 9, 10, tzinfo=UTC))
    assert await fire(app, clock) == 1
    assert await fire(app, clock) == 2
    assert sorted(await states(client)) == [
        "often@2027-01-15T09:00:00Z",
        "often@2027-01-15T10:00:00Z",
        "once@2027-01-15T09:10:00Z",
    ]
    (often, once) = await client.schedules()
    assert (often.cron, once.cron, once.next_at) == ("every 30m", "at 2027-01-15T09:10:00+00:00", None)


async def test_times_count_from_the_start_to_the_end(app: App, client: Client, clock: HandClock) -> None:
    await client.create_schedule(
        "report",
        report,
        ("a",),
        cron="0 * * * *",
        start="2027-01-15T10:00:00Z",
        end="2027-01-15T11:00:00Z",
        overlap="allow",
        catch_up="all",
    )
    assert await fire(app, clock, 6 * HOUR) == 2
    assert sorted(await states(client)) == [TEN, "report@2027-01-15T11:00:00Z"]
    assert (await client.schedules())[0].next_at is None


async def test_jitter_delays_each_start_by_less_than_it_says(app: App, client: Client, clock: HandClock) -> None:
    await client.create_schedule(
        "report", report, ("a",), cron="0 * * * *", jitter="10m", overlap="allow", catch_up="all"
    )
    clock.advance(50 * 60)
    assert await fire(app, clock, 20 * HOUR) == 20
    delays = []
    for id in await states(client):
        record = await session_of(client).record(id)
        nominal = datetime.fromisoformat(id.partition("@")[2]).timestamp()
        delays.append((record.wake_at or nominal) - nominal)
    assert all(0 <= delay < 600 for delay in delays)
    assert await fire(app, clock, 0) == 0


@pytest.mark.parametrize(
    ("overlap", "fired", "first"),
    [("allow", 1, "pending"), ("skip", 0, "pending"), ("buffer_one", 0, "pending"), ("cancel", 1, "cancelled")],
)
async def test_what_happens_while_the_task_before_is_at_work(
    app: App, client: Client, clock: HandClock, overlap: Any, fired: int, first: str
) -> None:
    await client.create_schedule("report", report, ("a",), cron="0 * * * *", overlap=overlap)
    assert await fire(app, clock) == 1
    assert await fire(app, clock) == fired
    found = await states(client)
    assert found[NINE] == first
    assert (TEN in found) is bool(fired)


@pytest.mark.parametrize(("overlap", "started"), [("buffer", [TEN]), ("buffer_one", ["report@2027-01-15T11:00:00Z"])])
async def test_buffered_times_are_fired_once_the_task_before_has_ended(
    app: App, client: Client, clock: HandClock, overlap: Any, started: list[str]
) -> None:
    await client.create_schedule("report", report, ("a",), cron="0 * * * *", overlap=overlap)
    for _ in range(3):
        await fire(app, clock)
    assert list(await states(client)) == [NINE]
    await client.task(NINE).cancel()
    assert await fire(app, clock, 0) == 1
    assert sorted(await states(client)) == sorted([NINE, *started])
    assert await fire(app, clock, 0) == 0


async def test_a_task_in_error_holds_up_no_later_one(app: App, client: Client, clock: HandClock) -> None:
    await client.create_schedule("report", report, ("a",), cron="0 * * * *")
    assert await fire(app, clock) == 1
    execute(
        Path(app.settings.store.removeprefix("sqlite:///")),
        "update stepward_task set state = 'error', finished_at = 1.0",
    )
    assert await fire(app, clock) == 1


async def test_a_task_can_be_started_by_hand(app: App, client: Client, clock: HandClock) -> None:
    await client.create_schedule("report", report, ("a",), cron="0 * * * *")
    task = await client.trigger_schedule("report")
    assert task.id.startswith("report@")
    assert (await task.status()).state == "pending"
    assert await fire(app, clock) == 0
    await task.cancel()
    assert await fire(app, clock) == 1
    assert [audit.act for audit in await client.audits()] == ["cancel", "trigger", "create"]
    assert [task.id for task in await client.tasks(label=("schedule", "report"))] == [TEN, task.id]


async def test_times_that_have_passed_are_started_once_each(app: App, client: Client, clock: HandClock) -> None:
    await client.create_schedule("report", report, ("a",), cron="0 * * * *")
    assert await fire(app, clock) == 1
    started = await client.backfill_schedule("report", "2027-01-15T07:00:00Z", "2027-01-15T09:00:00Z")
    assert [task.id for task in started] == ["report@2027-01-15T07:00:00Z", "report@2027-01-15T08:00:00Z"]
    assert await client.backfill_schedule("report", "2027-01-15T07:00:00Z", "2027-01-15T09:00:00Z") == []
    with pytest.raises(Refused, match="expected a range that is over"):
        await client.backfill_schedule("report", "2027-01-15T07:00:00Z", "2028-01-15T09:00:00Z")
    with pytest.raises(Refused, match="expected at most 1,000 nominal times, found more"):
        await client.backfill_schedule("report", "2026-01-15T07:00:00Z", "2027-01-15T09:00:00Z")


@pytest.mark.parametrize(
    ("name", "options", "says"),
    [
        ("report", {}, "expected exactly one of cron='0 2 \\* \\* \\*', every='15m' or at=<a time>, found 0"),
        ("report", {"cron": "0 * * * *", "every": "1h"}, "found 2 of them"),
        ("report", {"cron": "every day"}, "every: expected a timedelta"),
        ("report", {"every": "1ms"}, "every: expected 1 s or more"),
        ("report", {"at": "2027-01-15"}, "at: expected a time such as"),
        ("report", {"at": "2020-01-15T00:00:00Z"}, "expected a nominal time to come, found none"),
        ("report", {"every": "1h", "start": "soon"}, "start: expected a time with its offset"),
        ("report", {"every": "1h", "overlap": "never"}, "overlap: expected one of allow, skip"),
        ("report", {"every": "1h", "evry": 1}, "expected options among .*, cron, every, .*, found 'evry'"),
        ("a b", {"every": "1h"}, "schedule: expected a name of 1 to 150"),
        ("report", {"every": "1h", "timezone": "Berlin"}, "timezone: expected a name such as"),
    ],
)
async def test_what_does_not_fit_is_refused(client: Client, name: str, options: Any, says: str) -> None:
    with pytest.raises((Refused, DeclarationError), match=says):
        await client.create_schedule(name, report, ("a",), **options)
    assert await client.schedules() == []


async def test_a_name_that_is_taken_and_one_that_is_unknown_are_refused(client: Client) -> None:
    await client.create_schedule("report", report, ("a",), every="1h")
    with pytest.raises(Refused, match="expected a new name, found one of that name; remove it first"):
        await client.create_schedule("report", report, ("a",), every="2h")
    for act in (client.trigger_schedule("x"), client.backfill_schedule("x", "2026-01-01T00:00Z", "2026-01-01T00:00Z")):
        with pytest.raises(ScheduleNotFound):
            await act


def by_hand(app: App) -> None:
    """The command line and the client without an event loop."""

    def run(*words: str) -> str:
        result = CliRunner().invoke(cli, ["schedules", *words, "--store", app.settings.store])
        assert result.exit_code == 0, result.output
        return result.stdout

    with app.sync_client() as client:
        client.create_schedule("kept", report, ("a",), cron="0 0 1 1 *")
        assert client.trigger_schedule("kept").id.startswith("kept@")
        (started,) = client.backfill_schedule("kept", "2026-12-31T00:00:00Z", "2027-01-01T00:00:00Z")
        assert started.id == "kept@2027-01-01T00:00:00Z"
    created = run("create", "nightly", "report", '"b"', "2", "--cron", "0 2 * * *", "--overlap", "buffer")
    assert created.startswith("schedule nightly: created, first in ")
    assert run("trigger", "nightly").startswith("nightly@")
    assert run("backfill", "nightly", "2026-01-01T00:00:00Z", "2026-01-02T12:00:00Z") == (
        "schedule nightly: 2 tasks started\n"
    )
    assert "0 2 * * *" in run()


async def test_schedules_are_created_and_started_from_the_command_line(app: App) -> None:
    async with app.running(agents=False, supervisor=False, submission=False):
        await asyncio.to_thread(by_hand, app)
