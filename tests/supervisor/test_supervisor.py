"""The Supervisor's pass: what it asks the store for, in which order, and what it leaves alone."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from stepward.clock import Environment
from stepward.errors import StoreUnavailable
from stepward.events import Observers
from stepward.model.alerts.alert_routing import EVERY_ALERT, AlertNews
from stepward.model.records import Alert, InboxKind
from stepward.model.schedule import Schedule
from stepward.model.states import StepState, TaskState
from stepward.settings import Settings
from stepward.store.contract import SupervisorStore
from stepward.supervisor import Supervisor
from tests.supervisor.conftest import Bench, FakeSink, beside
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
        "lead", "due", "fence", "free", "expired_steps", "decide", "expired_tasks", "expire_task", "unserved",
        "undelivered_alerts", "alert_receipts", "record_receipts",
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
async def test_a_pass_judges_at_most_ten_batches_of_a_thousand(bench: Bench, steps: int, decided: int) -> None:
    bench.store.steps = [step(number) for number in range(steps)]
    await bench.supervisor().turn()
    assert len(bench.store.decisions) == decided
    assert bench.store.calls.count("decide") <= 10


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


async def test_a_task_that_is_undoing_is_left_alone(bench: Bench) -> None:
    bench.store.tasks = [task(1, TaskState.UNDOING)]
    report = await bench.supervisor().once()
    assert report.expired_tasks == 0
    assert bench.store.expiries == []


class TestOutage:
    async def test_after_an_outage_longer_than_the_lease_a_grace_comes_before_any_judgement(self, bench: Bench) -> None:
        supervisor = bench.supervisor()
        await supervisor.turn()
        bench.store.failing = {"lead"}
        await supervisor.turn()
        bench.store.failing = set()
        bench.store.time += 11.5
        bench.store.steps, bench.store.dead = [step(1)], [instance("dead-1")]
        await supervisor.turn()
        assert bench.store.graces == [10.0]
        assert bench.store.calls[-2:] == ["lead", "forgive"]
        bench.store.time += 1
        await supervisor.turn()
        assert bench.store.graces == [10.0]
        assert len(bench.store.decisions) == 1

    async def test_grace_in_batches_goes_on_at_once_and_nothing_is_judged_before_all_have_it(
        self, bench: Bench
    ) -> None:
        supervisor = bench.supervisor()
        bench.store.grace_left = 15
        bench.store.steps = [step(1)]
        assert await supervisor.turn() == 0.0
        assert bench.store.calls.count("go_on_forgiving") == 10
        assert await supervisor.turn() == 0.0
        assert bench.store.decisions == []
        await supervisor.turn()
        assert len(bench.store.decisions) == 1

    async def test_a_grace_that_could_not_be_given_is_given_before_anything_is_judged(self, bench: Bench) -> None:
        supervisor = bench.supervisor()
        await supervisor.turn()
        bench.store.time += 60
        bench.store.steps = [step(1)]
        bench.store.failing = {"forgive"}
        await supervisor.turn()
        bench.store.failing = set()
        bench.store.time += 1
        await supervisor.turn()
        assert bench.store.graces == [10.0]
        assert bench.store.decisions == []
        await supervisor.turn()
        assert len(bench.store.decisions) == 1

    async def test_a_clock_that_is_found_ahead_within_a_pass_judges_nothing(self, bench: Bench) -> None:
        supervisor = bench.supervisor()
        await supervisor.turn()
        bench.store.steps = [step(1)]
        bench.store.jump = 300.0
        await supervisor.turn()
        assert (bench.store.graces, bench.store.decisions) == ([10.0], [])
        await supervisor.turn()
        assert len(bench.store.decisions) == 1

    @pytest.mark.parametrize("seconds", [-60.0, -3.0, 3.0, 60.0])
    async def test_a_clock_that_was_set_costs_a_grace_and_no_verdict(self, bench: Bench, seconds: float) -> None:
        supervisor = bench.supervisor()
        await supervisor.turn()
        bench.store.steps, bench.store.dead = [step(1)], [instance("dead-1")]
        bench.store.set_by = seconds
        await supervisor.turn()
        assert (bench.store.graces, bench.store.decisions) == ([10.0], [])

    async def test_after_a_clock_jump_nothing_is_judged_before_all_live_instances_renewed(self, bench: Bench) -> None:
        supervisor = bench.supervisor()
        await supervisor.turn()
        bench.store.set_by = 60.0
        await supervisor.turn()
        bench.store.dead = [instance("renewed-by-the-old-clock")]
        bench.store.time += 4
        await supervisor.turn()
        assert len(bench.store.dead) == 1
        bench.store.time += 1
        await supervisor.turn()
        assert bench.store.dead == []
        assert bench.store.graces == [10.0]

    async def test_a_standby_that_saw_a_clock_jump_judges_nothing_when_it_leads_next(self, bench: Bench) -> None:
        """By that clock the lease of the earlier leader has run out, too."""
        supervisor = bench.supervisor()
        await supervisor.turn()
        bench.store.steps, bench.store.dead = [step(1)], [instance("dead-1")]
        bench.store.term = None
        bench.store.time += 300
        await supervisor.turn()
        bench.store.term = 1
        await supervisor.turn()
        assert (bench.store.graces, bench.store.decisions) == ([10.0], [])

    async def test_a_standby_forgets_an_outage_through_which_another_led(self, bench: Bench) -> None:
        supervisor = bench.supervisor()
        await supervisor.turn()
        bench.store.term = None
        bench.store.time += 300
        for _ in range(2):
            await supervisor.turn()
        bench.store.term = 1
        await supervisor.turn()
        assert bench.store.graces == []

    async def test_a_gap_within_the_lease_is_no_outage(self, bench: Bench) -> None:
        supervisor = bench.supervisor()
        await supervisor.turn()
        bench.store.time += 10.9
        await supervisor.turn()
        assert bench.store.graces == []

    async def test_a_pause_that_was_planned_is_no_outage(self, bench: Bench) -> None:
        supervisor = bench.supervisor(supervisor_every="5m")
        for _ in range(3):
            bench.store.time += await supervisor.turn()
        assert bench.store.graces == []

    async def test_a_follower_that_comes_to_lead_knows_of_no_outage(self, bench: Bench) -> None:
        supervisor = bench.supervisor()
        await supervisor.turn()
        bench.store.term = None
        for _ in range(30):
            bench.store.time += await supervisor.turn()
        bench.store.term = 1
        await supervisor.turn()
        assert bench.store.graces == []

    async def test_a_pass_that_takes_long_is_no_outage(self, bench: Bench) -> None:
        store = bench.store
        store.steps = [step(1)]

        def slow(name: str) -> None:
            if name == "supervisor.decide.before":
                store.time += 60

        supervisor = _supervisor(store, Environment(failpoint=slow))
        await supervisor.turn()
        store.time += 1
        await supervisor.turn()
        assert store.graces == []

    async def test_the_first_pass_of_a_process_judges(self, bench: Bench) -> None:
        bench.store.steps = [step(1)]
        await bench.supervisor().turn()
        assert bench.store.graces == []
        assert len(bench.store.decisions) == 1


class TestStoreOutOfReach:
    @pytest.mark.parametrize("verb", ["lead", "due", "fence", "expired_steps", "decide", "expire_task", "purge"])
    async def test_a_turn_survives_it_wherever_it_strikes(self, bench: Bench, verb: str) -> None:
        bench.store.dead, bench.store.steps, bench.store.tasks = [instance("d")], [step(1)], [task(2)]
        bench.store.failing = {verb}
        supervisor = bench.supervisor()
        await supervisor.turn()
        await beside()
        assert "store.unavailable" in bench.names()
        bench.store.failing = set()
        await supervisor.turn()
        assert len(bench.store.decisions) == 1
        assert len(bench.store.expiries) == 1

    async def test_it_is_asked_ever_later_up_to_the_lease(self, bench: Bench) -> None:
        bench.store.failing = {"lead"}
        supervisor = bench.supervisor()
        assert [await supervisor.turn() for _ in range(6)] == [1, 2, 4, 8, 10, 10]
        bench.store.failing = set()
        assert await supervisor.turn() == 1
        bench.store.failing = {"lead"}
        assert await supervisor.turn() == 1

    async def test_once_raises_to_its_caller(self, bench: Bench) -> None:
        bench.store.failing = {"due"}
        with pytest.raises(StoreUnavailable):
            await bench.supervisor().once()


async def test_the_failpoints_stand_around_the_lead_and_the_decision(bench: Bench) -> None:
    store = bench.store
    store.steps = [step(1)]
    seen: list[tuple[str, str | None]] = []
    environment = Environment(failpoint=lambda name: seen.append((name, store.calls[-1] if store.calls else None)))
    await _supervisor(store, environment).turn()
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


def _supervisor(store: SupervisorStore, environment: Environment) -> Supervisor:
    return Supervisor(
        store, instance="s1", settings=Settings(), observers=Observers(), environment=environment, sinks=[]
    )


def test_the_double_has_the_shape_of_the_store() -> None:
    store: SupervisorStore = FakeStore()
    assert store.now() == 1000.0
