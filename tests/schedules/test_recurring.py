"""Recurring tasks as applications and operators hold them: each nominal time is fired exactly once (row 71)."""

from __future__ import annotations

import asyncio
import itertools
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from stepward import App, Client, Pipeline, Stage, step, workflow
from stepward.cli.main import cli
from stepward.client import session_of
from stepward.clock import Environment
from stepward.errors import DeclarationError, InvalidArguments, ScheduleNotFound
from stepward.store.contract import Firing
from tests.store.conformance.world import HandClock

HOURLY = "0 * * * *"
FIRST = "report@2027-01-15T09:00:00Z"
SECOND = "report@2027-01-15T10:00:00Z"

Make = Callable[..., App]


@workflow
async def report(name: str) -> str:
    return name


@workflow(name="report", version="2")
async def newer(name: str) -> str:
    return name.upper()


@step()
async def count() -> int:
    return 1


plan = Pipeline("plan", {"first": Stage(count), "second": Stage(count, after=["first"])}, given={})


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def make(tmp_path: Path, clock: HandClock) -> Make:
    seeds = itertools.count()

    def made(*, cron: str = HOURLY, args: tuple[str, ...] = ("daily",), catch_up: str = "one", **fields: object) -> App:
        environment = Environment(clock=clock, random=random.Random(next(seeds)))
        app = App("clockwork", workflows=[report], store=f"sqlite:///{tmp_path / 'c.db'}", environment=environment)
        app.schedule("report", report, cron, args=args, catch_up=catch_up, **fields)  # type: ignore[call-overload]  # some are wrong
        return app

    return made


async def registered(app: App) -> App:
    """What a process that starts, and ends, leaves in the store."""
    async with app.running(scheduler=False, agents=False, supervisor=False, submission=False):
        return app


async def ids(app: App) -> list[str]:
    async with app.client() as client:
        return sorted(status.id for status in await client.tasks())


async def test_each_nominal_time_is_fired_once(make: Make, clock: HandClock) -> None:
    app = await registered(make())
    await app.supervise_once()
    assert await ids(app) == []
    clock.advance(3600)
    assert (await app.supervise_once()).fired == 1
    assert (await app.supervise_once()).fired == 0
    clock.advance(3600)
    await app.supervise_once()
    assert await ids(app) == [FIRST, SECOND]


async def test_the_task_has_the_arguments_and_says_whence_it_comes(make: Make, clock: HandClock) -> None:
    app = await registered(make(priority=7, fairness_key="reports"))
    clock.advance(3600)
    await app.supervise_once()
    async with app.client() as client:
        record = await session_of(client).record(FIRST)
        found = await client.tasks(label=("schedule", "report"))
    assert (record.workflow, record.input) == ("report", b'["daily"]')
    assert (record.priority, record.fairness_key) == (7, "reports")
    assert [status.id for status in found] == [FIRST]


async def test_supervisors_that_act_at_once_fire_once(make: Make, clock: HandClock) -> None:
    app = await registered(make())
    clock.advance(3600)
    reports = await asyncio.gather(*(make().supervise_once() for _ in range(5)))
    assert sum(report.fired for report in reports) == 1
    assert await ids(app) == [FIRST]


async def test_a_supervisor_that_read_before_another_fired_changes_nothing(make: Make, clock: HandClock) -> None:
    app = await registered(make())
    clock.advance(3600)
    async with app.client() as client:
        term = await session_of(client).store.supervisor.lead("supervisor-1", 60)
        assert term is not None
        (read,) = await session_of(client).store.supervisor.due_schedules(10)
        supervisor = session_of(client).store.supervisor
        assert await supervisor.fire(term, [Firing(read, [], read.next_at and read.next_at + 3600)]) == [0]
        assert await supervisor.fire(term, [Firing(read, [], read.next_at and read.next_at + 7200)]) == [None]
        assert await supervisor.fire(term - 1, [Firing(read, [], None)]) == [None]
        (schedule,) = await client.schedules()
    assert schedule.next_at == (read.next_at or 0) + 3600


async def test_after_an_outage_one_is_fired_unless_all_are_wanted(make: Make, clock: HandClock) -> None:
    await registered(make(catch_up="all"))
    clock.advance(5 * 3600)
    assert (await make().supervise_once()).fired == 5


async def test_a_restart_keeps_the_next_time_and_another_timetable_starts_again(make: Make, clock: HandClock) -> None:
    await registered(make())
    clock.advance(3600)
    app = await registered(make())
    assert (await app.supervise_once()).fired == 1
    other = await registered(make(cron="30 * * * *"))
    clock.advance(1800)
    await other.supervise_once()
    assert await ids(other) == [FIRST, "report@2027-01-15T09:30:00Z"]


async def test_while_paused_nothing_is_fired_and_nothing_is_caught_up_with(make: Make, clock: HandClock) -> None:
    app = await registered(make(catch_up="all"))
    async with app.client() as client:
        assert await client.pause_schedule("report")
        assert not await client.pause_schedule("report")
        clock.advance(3600)
        await registered(make(catch_up="all"))
        await app.supervise_once()
        assert await client.resume_schedule("report")
        assert not await client.resume_schedule("report")
        await app.supervise_once()
        clock.advance(3600)
        await app.supervise_once()
        acts = [audit.act for audit in await client.audits()]
    assert await ids(app) == [SECOND]
    assert acts.count("pause") == acts.count("resume") == 1


async def test_a_removed_schedule_is_not_fired(make: Make, clock: HandClock) -> None:
    app = await registered(make())
    async with app.client() as client:
        await client.remove_schedule("report")
        assert await client.schedules() == []
        for verb in (client.remove_schedule, client.pause_schedule, client.resume_schedule):
            with pytest.raises(ScheduleNotFound, match="expected one that an application declares"):
                await verb("report")
    clock.advance(3600)
    assert (await app.supervise_once()).fired == 0


async def test_a_pipeline_is_recorded_whole(tmp_path: Path, clock: HandClock) -> None:
    environment = Environment(clock=clock, random=random.Random(7))
    app = App("p", workflows=[plan], store=f"sqlite:///{tmp_path / 'p.db'}", environment=environment)
    app.schedule("plan", plan, HOURLY)
    await registered(app)
    clock.advance(3600)
    await app.supervise_once()
    async with app.client() as client:
        steps = await client.task("plan@2027-01-15T09:00:00Z").steps()
    assert [step.state for step in steps] == ["not_started", "not_started"]


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"cron": "hourly"}, "cron: expected five fields"),
        ({"timezone": "Berlin"}, "timezone: expected a name"),
        ({"catch_up": "some"}, "expected catch_up one of one, all, none"),
    ],
)
def test_a_wrong_declaration_is_refused(make: Make, fields: dict[str, str], error: str) -> None:
    with pytest.raises(DeclarationError, match=error):
        make(**fields)


def test_arguments_are_checked_when_declared(make: Make) -> None:
    with pytest.raises(InvalidArguments):
        make(args=())


@pytest.mark.parametrize("name", ["", "a b", "x" * 151, "a/b"])
def test_a_wrong_name_is_refused(make: Make, name: str) -> None:
    with pytest.raises(DeclarationError, match="schedule: expected a name"):
        make().schedule(name, report, HOURLY, args=("x",))


def test_a_workflow_of_another_app_and_a_second_declaration_are_refused(make: Make) -> None:
    app = make()
    with pytest.raises(DeclarationError, match="expected one of the app's workflows"):
        app.schedule("other", newer, HOURLY, args=("x",))
    with pytest.raises(DeclarationError, match="expected one declaration, found two"):
        app.schedule("report", report, HOURLY, args=("x",))


async def test_operators_list_and_pause_them(make: Make, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    await registered(make())
    monkeypatch.setenv("STEPWARD_STORE", f"sqlite:///{tmp_path / 'c.db'}")
    run = CliRunner()

    def stepward(*words: str) -> tuple[int, str]:
        result = run.invoke(cli, ["schedules", *words])
        return result.exit_code, result.output

    def listed() -> str:
        return stepward()[1]

    assert "report" in (text := await asyncio.to_thread(listed))
    assert HOURLY in text
    assert (await asyncio.to_thread(stepward, "pause", "report")) == (0, "schedule report: paused\n")
    assert (await asyncio.to_thread(stepward, "pause", "report"))[0] == 1
    assert "paused" in await asyncio.to_thread(listed)
    assert '"cron": "0 * * * *"' in (await asyncio.to_thread(stepward, "--json"))[1]
    assert (await asyncio.to_thread(stepward, "resume", "report")) == (0, "schedule report: resumed\n")
    code, text = await asyncio.to_thread(stepward, "remove", "nightly")
    assert (code, text.count("\n")) == (1, 1)
    assert (await asyncio.to_thread(stepward, "remove", "report"))[0] == 0
    assert "No recurring tasks." in await asyncio.to_thread(listed)


async def test_a_client_elsewhere_sees_them(make: Make, tmp_path: Path) -> None:
    await registered(make())
    async with Client(f"sqlite:///{tmp_path / 'c.db'}", app="clockwork") as client:
        assert [schedule.name for schedule in await client.schedules()] == ["report"]
