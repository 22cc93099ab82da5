"""The Supervisor's pass: what it asks the store for, in which order, and what it leaves alone."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from stepward.clock import Environment
from stepward.errors import Refused, StoreUnavailable
from stepward.events import Observers
from stepward.model.alerts.alert_routing import EVERY_ALERT, AlertNews
from stepward.model.records import Alert, InboxKind
from stepward.model.schedule import Schedule
from stepward.model.states import StepState, TaskState
from stepward.settings import Settings
from stepward.store.contract import SupervisorStore
from stepward.supervisor import Supervisor, due_schedules
from stepward.supervisor.alert_delivery import AT_ONCE
from stepward.supervisor.due_schedules import IN_ONE_COMMIT, MOST
from stepward.supervisor.supervisor import BATCH, BATCHES
from tests.supervisor.conftest import Bench, FakeSink, beside, supervisor_on
from tests.supervisor.fake_store import FakeStore, instance, step, task


async def test_an_idle_pass_is_a_lease_and_one_statement(bench: Bench) -> None:
    supervisor = bench.supervisor()
    assert await supervisor.turn() == 1.0
    # Once a minute it also counts states, and deletes what is old beside the passes; every five seconds it compares
    # the Schedulers.
    await beside()
    assert bench.store.calls == [
        "lead",
        "due",
        "report_sinks",
        "schedulers",
        "resolve_alert",
        "resolve_alert",
        "late_leases",
        "early_warnings",
        "standbys",
        "keep_warnings",
        "sample_states",
        "outlived",
        "purge",
    ]
    bench.store.calls.clear()
    assert await supervisor.turn() == 1.0
    await beside()
    assert bench.store.calls == ["lead", "due"]


async def test_a_pass_does_what_is_due_in_order(bench: Bench) -> None:
    store = bench.store
    store.dead = [instance("dead-1")]
    store.steps, store.tasks = [step(1)], [task(2)]
    store.unserved_kinds = 1
    report = await bench.supervisor(FakeSink("log")).once()
    assert store.calls[:12] == [
        "lead", "due", "fence", "free", "expired_steps", "decide", "expired_tasks", "expire_tasks", "unserved",
        "undelivered_alerts", "alert_silences", "alert_receipts",
    ]  # fmt: skip
    assert (report.led, report.fenced, report.freed, report.judged, report.expired_tasks) == (
        True,
        1,
        1,
        1,
        1,
    )
    assert (report.unserved, report.delivered) == (1, 1)


async def test_tasks_that_an_instance_long_dead_still_holds_are_freed(bench: Bench) -> None:
    bench.store.held = 7
    report = await bench.supervisor().once()
    assert (report.fenced, report.freed) == (0, 7)


async def test_a_standby_supervisor_does_nothing(bench: Bench) -> None:
    bench.store.term = None
    bench.store.steps = [step(1)]
    supervisor = bench.supervisor()
    assert await supervisor.turn() == 1.0
    assert not (await supervisor.once()).led
    assert set(bench.store.calls) == {"lead"}


async def test_a_supervisor_deposed_in_a_pass_changes_nothing_more(bench: Bench) -> None:
    bench.store.valid_term = 2
    bench.store.steps = [step(number) for number in range(3000)]
    bench.store.tasks = [task(1)]
    await bench.supervisor().turn()
    assert bench.store.decisions == []
    assert bench.store.expiries == []
    assert bench.store.calls.count("decide") == 1


async def test_the_lease_of_the_leader_outlives_the_pause_between_passes(bench: Bench) -> None:
    await bench.supervisor(supervisor_every="1m").turn()
    assert bench.store.lead_lease > 60


@pytest.mark.parametrize(("steps", "decided"), [(999, 999), (1000, 1000), (2500, 2500), (10_001, 10_000)])
async def test_a_pass_judges_at_most_forty_batches(bench: Bench, steps: int, decided: int) -> None:
    bench.store.steps = [step(number) for number in range(steps)]
    await bench.supervisor().turn()
    assert len(bench.store.decisions) == decided
    assert bench.store.calls.count("decide") <= 40


async def test_once_goes_on_until_nothing_is_due(bench: Bench) -> None:
    bench.store.steps = [step(number) for number in range(25_000)]
    report = await bench.supervisor().once()
    assert report.judged == len(bench.store.decisions) == 25_000
    assert bench.store.steps == []


async def test_decisions_are_signed_with_the_instance(bench: Bench) -> None:
    bench.store.steps = [step(1)]
    await bench.supervisor().turn()
    (decision,) = bench.store.decisions
    assert decision.state is StepState.TO_REPEAT
    assert decision.audit.actor == decision.posts[0].sender == "supervisor/s1"


async def test_a_task_past_its_own_complete_by_is_reported(bench: Bench) -> None:
    bench.store.tasks = [task(1)]
    await bench.supervisor().turn()
    ((post, audit),) = bench.store.expiries
    assert (post.task, post.kind, audit.actor) == ("uid-1", InboxKind.FAIL, "supervisor/s1")


async def test_an_unreadable_schedule_is_reported_and_blocks_no_other(bench: Bench) -> None:
    good = Schedule(
        name="good",
        workflow="w",
        version="1",
        input=b"[]",
        cron="* * * * *",
        timezone="UTC",
        catch_up="one",
        priority=5,
        next_at=960.0,
    )
    bad = msgspec.structs.replace(good, name="bad", cron="every full moon")
    bench.store.recurring = {"bad": bad, "good": good}
    await bench.supervisor().turn()
    assert [task.id for task in bench.store.fired] == ["good@1970-01-01T00:16:00Z"]
    assert "schedule.unreadable" in bench.names()


def _minutely(name: str) -> Schedule:
    return Schedule(
        name=name,
        workflow="w",
        version="1",
        input=b"[]",
        cron="* * * * *",
        timezone="UTC",
        catch_up="one",
        priority=5,
        next_at=960.0,
    )


async def test_a_schedule_that_cannot_be_fired_keeps_no_other_of_its_batch_from_being_fired(bench: Bench) -> None:
    names = ["first", "bad", "last"]
    bench.store.recurring = {name: _minutely(name) for name in names}
    bench.store.unfired = {"bad": Refused("expected room in the inbox, found it full")}
    supervisor = bench.supervisor()
    await supervisor.turn()
    assert [task.id for task in bench.store.fired] == ["first@1970-01-01T00:16:00Z", "last@1970-01-01T00:16:00Z"]
    (alert,) = [alert for alert in bench.store.alerts.values() if alert.kind == "schedule_failed"]
    assert "bad: expected room in the inbox, found it full" in alert.message
    assert [event.fields["schedule"] for event in bench.told if event.name == "schedule.failed"] == ["bad"]


async def test_a_schedule_that_cannot_be_fired_is_tried_again_after_a_minute_and_its_alert_resolved(
    bench: Bench,
) -> None:
    bench.store.recurring = {"bad": _minutely("bad")}
    bench.store.unfired = {"bad": Refused("full")}
    supervisor = bench.supervisor()
    for _ in range(3):
        await supervisor.turn()
    assert bench.store.calls.count("fire") == 1
    bench.store.unfired = {}
    bench.store.time += 61
    # The first pass after such a pause gives grace.
    for _ in range(2):
        await supervisor.turn()
    assert len(bench.store.fired) == 1
    (failed,) = [alert for alert in bench.store.alerts.values() if alert.kind == "schedule_failed"]
    assert failed.acknowledged_at == bench.store.time


async def test_schedules_that_cannot_be_fired_keep_none_behind_them_from_being_fired_however_many_they_are(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(due_schedules, "MOST", 2)
    bench.store.recurring = {name: _minutely(name) for name in ("bad", "worse", "good")}
    bench.store.unfired = {name: Refused("full") for name in ("bad", "worse")}
    supervisor = bench.supervisor()
    for _ in range(2):
        await supervisor.turn()
    assert [task.id for task in bench.store.fired] == ["good@1970-01-01T00:16:00Z"]


async def test_a_store_that_is_away_is_no_fault_of_a_schedule(bench: Bench) -> None:
    bench.store.recurring = {"good": _minutely("good")}
    bench.store.unfired = {"good": StoreUnavailable("it restarts")}
    await bench.supervisor().turn()
    assert "store.unavailable" in bench.names()
    assert "schedule.failed" not in bench.names()


async def test_a_task_that_is_undoing_is_left_alone(bench: Bench) -> None:
    bench.store.tasks = [task(1, TaskState.UNDOING)]
    report = await bench.supervisor().once()
    assert report.expired_tasks == 0
    assert bench.store.expiries == []


async def test_the_failpoints_stand_around_the_lead_and_the_decision(bench: Bench) -> None:
    store = bench.store
    store.steps = [step(1)]
    seen: list[tuple[str, str | None]] = []
    environment = Environment(failpoint=lambda name: seen.append((name, store.calls[-1] if store.calls else None)))
    await supervisor_on(store, environment).turn()
    assert seen == [
        ("supervisor.pass.before", None),
        ("supervisor.decide.before", "expired_steps"),
        ("supervisor.decide.after", "decide"),
    ]


async def test_gaining_and_losing_leadership_is_reported_once_each(bench: Bench) -> None:
    supervisor = bench.supervisor()
    for term in (1, 1, None, None, 1):
        bench.store.term = term
        await supervisor.turn()
    assert bench.names() == ["supervisor.leads", "supervisor.deposed", "supervisor.leads"]


async def test_fences_and_decisions_are_reported(bench: Bench) -> None:
    bench.store.dead, bench.store.steps = [instance("dead-1")], [step(1), step(2)]
    await bench.supervisor().turn()
    fields = {event.name: event.fields for event in bench.told}
    assert fields["instance.fenced"]["instance"] == "dead-1"
    assert fields["tasks.freed"] == {"count": 1}
    assert fields["steps.judged"] == {"applied": 2, "repeat": 2}


async def test_a_sink_that_never_answers_holds_up_no_pass(bench: Bench) -> None:
    started = asyncio.Event()

    class Hanging:
        name = description = "hanging"
        route = EVERY_ALERT

        async def deliver(self, alert: Alert, news: AlertNews) -> None:
            started.set()
            await asyncio.Event().wait()

    bench.store.told("task_error")
    supervisor = bench.supervisor(Hanging())
    await supervisor.turn()
    await started.wait()
    bench.store.steps = [step(1)]
    await supervisor.turn()
    await asyncio.sleep(0)
    assert len(bench.store.decisions) == 1
    assert bench.store.calls.count("undelivered_alerts") == 1
    await supervisor.close()
    assert bench.store.delivered() == []


async def test_alerts_go_out_beside_a_pass(bench: Bench) -> None:
    took = asyncio.Event()

    class Sink(FakeSink):
        async def deliver(self, alert: Alert, news: AlertNews) -> None:
            await super().deliver(alert, news)
            took.set()

    bench.store.told("task_error")
    sink = Sink("log")
    await bench.supervisor(sink).turn()
    await took.wait()
    assert sink.took == [1]


async def test_a_store_outage_during_a_delivery_is_reported_and_retried(bench: Bench) -> None:
    told = asyncio.Event()
    bench.store.told("task_error")
    bench.store.failing = {"undelivered_alerts"}
    supervisor = Supervisor(
        bench.store,
        instance="s1",
        settings=Settings(),
        observers=Observers(lambda event: told.set() if event.name == "store.unavailable" else None),
        environment=Environment(),
        sinks=[FakeSink("log")],
    )
    await supervisor.turn()
    await told.wait()
    bench.store.failing = set()
    await supervisor.once()
    assert bench.store.delivered() == [1]


def test_the_double_has_the_shape_of_the_store() -> None:
    store: SupervisorStore = FakeStore()
    assert store.now() == 1000.0


@pytest.mark.parametrize(("count", "pause"), [(BATCH * BATCHES, 0.0), (BATCH * BATCHES - 1, 1.0)])
async def test_a_pass_that_leaves_steps_or_tasks_is_followed_by_the_next_at_once(
    bench: Bench, count: int, pause: float
) -> None:
    bench.store.steps = [step(number) for number in range(count)]
    assert await bench.supervisor().turn() == pause
    bench.store.tasks = [task(number) for number in range(count)]
    assert await bench.supervisor().turn() == pause
    assert len(bench.store.expiries) == count
    assert bench.store.calls.count("expire_tasks") == BATCHES


async def test_alerts_are_delivered_one_batch_right_after_the_other(bench: Bench) -> None:
    sink = FakeSink("log")
    for _ in range(5 * AT_ONCE):
        bench.store.told("unserved")
    supervisor = bench.supervisor(sink)
    assert await supervisor.turn() == 1.0
    await beside()
    assert sink.took == [*range(1, 5 * AT_ONCE + 1)]
    assert bench.store.calls.count("due") == 1


async def test_a_pass_fires_more_schedules_than_one_read_gives(bench: Bench) -> None:
    for number in range(2 * MOST + 1):
        bench.store.recurring[f"s{number}"] = Schedule(
            name=f"s{number}",
            workflow="report",
            version="1",
            input=b"[]",
            cron="every 1m",
            timezone="UTC",
            catch_up="one",
            priority=5,
            next_at=960.0,
        )
    assert await bench.supervisor().turn() == 1.0
    assert len(bench.store.fired) == 2 * MOST + 1
    assert bench.store.calls.count("fire") <= 2 * (2 * MOST + 1) / IN_ONE_COMMIT + 3
