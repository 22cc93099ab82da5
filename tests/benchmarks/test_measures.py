"""Every measure runs, in a size that says nothing but that it does."""

from __future__ import annotations

import pytest

from benchmarks.application import make_app
from benchmarks.measures import brokers, one_process, processes, queues
from benchmarks.measures.bursts.loop_holds import loop_holds
from benchmarks.measures.bursts.supervisor_rates import supervisor_rates
from benchmarks.measures.development import development
from benchmarks.measures.draining import draining
from benchmarks.measures.postgres_costs import costs
from benchmarks.measures.safeguards import safeguards, unguarded
from benchmarks.measures.supervisor_passes import supervising
from benchmarks.measures.takeover import takeover
from benchmarks.store_locations import Place, PostgresBench
from stepward.model.messages.signing import Signer, StoreIdentity
from tests.tiers import nightly

pytestmark = pytest.mark.servers


async def test_throughput_is_compared_round_by_round(place: Place) -> None:
    figures = await one_process.throughput(place, rounds=1, tasks=20)
    assert figures["share_of_raw_limit"] == figures["steps_per_s"] / figures["raw_limit_steps_per_s"]


async def test_latency_counts_a_commit_for_each_step_and_one_to_begin(place: Place) -> None:
    figures = await one_process.latency(place, rounds=1, repeats=8)
    assert 1.1 <= figures["commits_per_step_alone"] < 2.0
    assert figures["times_floor"] == pytest.approx(figures["ten_steps_alone_ms"] / figures["floor_ms"])


async def test_a_pile_is_drained(place: Place) -> None:
    figures = await draining(place, tasks=50, rounds=1)
    assert figures["tasks_per_s"] > 0


async def test_a_two_step_task_alone_costs_three_commits_of_its_own(postgres: PostgresBench) -> None:
    figures = await costs(postgres, tasks=50, rest=0.5)
    assert 2.5 < figures["commits"] < 4.5
    assert 1_000 < figures["wal_bytes"] < 20_000


async def test_what_developers_wait_for_is_measured(place: Place) -> None:
    figures = await development(place, rounds=1, histories=20, streams=2, values=10)
    assert all(figure > 0 for figure in figures.values())


@pytest.mark.faults
async def test_two_schedulers_are_measured_beside_one(postgres: PostgresBench) -> None:
    figures = await processes.two_schedulers(postgres, rounds=1, tasks=20)
    assert figures["two_to_one_cpu"] == figures["two_cpu_us_per_step"] / figures["one_cpu_us_per_step"]


@pytest.mark.faults
async def test_two_stores_are_measured_beside_one(place: Place) -> None:
    figures = await processes.two_partitions(place, rounds=1, tasks=20)
    assert figures["two_stores_to_one"] == figures["two_stores_steps_per_s"] / figures["one_store_steps_per_s"]


@pytest.mark.parametrize("queues", [brokers.in_the_store, nightly(brokers.over_nats)])
async def test_messages_go_through_queues_between_two_processes(place: Place, queues: brokers.BenchQueues) -> None:
    figures = await brokers.transport(place, queues=queues, rounds=1, tasks=20, alone=4)
    assert figures["steps_per_s"] > 0
    assert figures["one_step_alone_ms"] > 0


@pytest.mark.faults
async def test_safeguards_are_compared_with_their_absence(postgres: PostgresBench) -> None:
    figures = await safeguards(postgres, rounds=1, tasks=8)
    assert figures.keys() == {
        f"{load}_{figure}" for load in ("postgresql", "nats") for figure in ("tasks_per_s", "throughput", "cpu")
    }


async def test_without_safeguards_nothing_is_proven_and_no_session_is_cleaned(postgres: PostgresBench) -> None:
    """Else the comparison would say that they cost nothing."""
    app = make_app(await postgres.fresh())
    signer = Signer(StoreIdentity("store", b"key"))
    async with app.client() as client:
        with unguarded():
            assert signer.is_genuine("forged", "task", 0, "act/1", 1, "svc")
            async with client.transaction() as transaction:
                await transaction.execute("set application_name = 'left'")
        async with client.transaction() as transaction:
            assert await transaction.execute("show application_name") == [("left",)]
        async with client.transaction() as transaction:
            assert await transaction.execute("show application_name") != [("left",)]


async def test_the_supervisor_decides_all_that_expired(place: Place) -> None:
    figures = await supervising(place, live=30, expired=10, passes=2)
    assert 0 < figures["idle_pass_ms"] <= figures["slowest_pass_ms"]


@pytest.mark.faults
async def test_the_longest_hold_of_the_loop_is_measured_for_each_burst(place: Place) -> None:
    figures = await loop_holds(place, payloads=2, timers=5, births=20, cancelled=20, signals=20, schedules=0)
    assert all(figure > 0 for figure in figures.values())


async def test_a_running_supervisor_works_off_each_pile(place: Place) -> None:
    figures = await supervisor_rates(place, deadlines=5, alerts=5, freed=5)
    assert all(figure > 0 for figure in figures.values())


@pytest.mark.faults
async def test_heirs_move_all_that_the_killed_one_held(place: Place) -> None:
    figures = await takeover(place, tasks=20, heirs=2, lease=1.0)
    assert figures["beyond_lease_s"] == figures["all_moved_on_after_s"] - 1.0


async def test_submissions(place: Place) -> None:
    figures = await one_process.submission(place, many=20, single=32)
    assert figures["submissions_per_s"] > 0


async def test_orders_are_accepted(place: Place) -> None:
    assert (await queues.accepting(place, orders=20))["orders_per_s"] > 0


async def test_every_output_line_is_read(place: Place) -> None:
    assert (await queues.telling(place, rounds=1, tasks=10))["telling_to_silent"] > 0


async def test_rest(place: Place) -> None:
    # On a busy machine a start may last into what is measured.
    measured = [await one_process.idle(place, seconds=0.5) for _ in range(3)]
    assert min(figures["statements_per_s"] for figures in measured) < 20


async def test_growth(place: Place) -> None:
    figures = await one_process.growth(place, histories=(10, 20), rounds=1, tasks=10)
    assert set(figures) == {"cpu_us_per_step_at_10", "cpu_us_per_step_at_20", "million_times_thousand"}
