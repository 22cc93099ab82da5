"""The Supervisor after an outage in which no process could renew, and while the store is out of reach."""

from __future__ import annotations

import pytest

from stepward.clock import Environment
from stepward.errors import StoreUnavailable
from tests.supervisor.conftest import Bench, beside, supervisor_on
from tests.supervisor.fake_store import instance, step, task


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
        bench.store.grace_left = 45
        bench.store.steps = [step(1)]
        assert await supervisor.turn() == 0.0
        assert bench.store.calls.count("go_on_forgiving") == 40
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

        supervisor = supervisor_on(store, Environment(failpoint=slow))
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
    @pytest.mark.parametrize("verb", ["lead", "due", "fence", "expired_steps", "decide", "expire_tasks", "purge"])
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
