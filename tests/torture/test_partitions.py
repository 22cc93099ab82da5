"""The oracle of torture over partitions finds each planted wrong end; a short run of it holds."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from servers.postgres import Server
from stepward import TaskState
from torture.partitions.application import CHARGES, is_refused
from torture.partitions.commands import NOTHING, PartitionsCommands
from torture.partitions.growth import POINTS, Growth
from torture.partitions.journal import Journal, ends_of_logs
from torture.partitions.oracle import Outage, judged, place_of
from torture.partitions.processes import Workers
from torture.partitions.run import PartitionFaults, PartitionsPlan, PartitionsVerdict, torture_partitions
from torture.partitions.service import Bank
from torture.partitions.stores import ServerStores, TortureStores, storing
from torture.partitions.transports import STORE, carrying

MOST_SECONDS = 600
"""Seconds of a run on a machine with much else to do; a minute and a half on one with nothing."""
ORDERS = [f"order-{number}" for number in range(1, 21)]
CALM = Outage(frozenset({2}), 0.0, 10.0, frozenset({2}))


def good() -> tuple[list[dict[str, TaskState]], Bank]:
    """What the stores and the bank hold where everything went well."""
    stores: list[dict[str, TaskState]] = [{}, {}]
    bank = Bank(lambda: 5.0)
    for order in ORDERS:
        state = TaskState.UNDONE if is_refused(order) else TaskState.PROCESSED
        stores[place_of(order, 2) - 1] |= {order: state, f"{order}/delivery/1": state}
        bank.charged |= {(order, number): 5.0 for number in range(CHARGES)}
        if is_refused(order):
            bank.refunded |= {(order, number) for number in range(CHARGES)}
    return stores, bank


def home(stores: list[dict[str, TaskState]], order: str) -> dict[str, TaskState]:
    """The store of an order."""
    return stores[place_of(order, 2) - 1]


def test_nothing_is_said_where_everything_went_well() -> None:
    assert judged(ORDERS, *good(), [CALM]) == []


def test_a_lost_order_is_found() -> None:
    stores, bank = good()
    del home(stores, "order-1")["order-1"]
    assert judged(ORDERS, stores, bank, [])


def test_a_task_in_the_wrong_store_is_found() -> None:
    stores, bank = good()
    stores[2 - place_of("order-1", 2)]["order-1"] = TaskState.PROCESSED
    assert "found it in p" in judged(ORDERS, stores, bank, [])[0]


def test_a_child_that_is_not_beside_its_parent_is_found() -> None:
    stores, bank = good()
    del home(stores, "order-2")["order-2/delivery/1"]
    assert "expected its child task beside it" in judged(ORDERS, stores, bank, [])[0]


@pytest.mark.parametrize(("order", "number"), [("order-1", 0), ("order-2", 2)])
def test_a_missing_charge_is_found(order: str, number: int) -> None:
    stores, bank = good()
    del bank.charged[order, number]
    assert f"order {order}" in judged(ORDERS, stores, bank, [])[0]


def test_a_charge_of_an_undone_order_that_stands_is_found() -> None:
    stores, bank = good()
    bank.refunded.remove(("order-5", 1))
    assert "order order-5: expected undone with the charges none" in judged(ORDERS, stores, bank, [])[0]


def test_a_task_that_nothing_submitted_is_found() -> None:
    stores, bank = good()
    home(stores, "order-99")["order-99"] = TaskState.PROCESSED
    assert "expected it to have been submitted" in judged(ORDERS, stores, bank, [])[0]


def test_a_second_key_for_one_charge_is_found() -> None:
    stores, bank = good()
    bank.keys["charge", ("order-1", 0)] = {"a/1/bank.charge/1", "a/1/bank.charge/2"}
    assert "under one key" in judged(ORDERS, stores, bank, [])[0]


def test_a_healthy_partition_that_stopped_is_found() -> None:
    stores, bank = good()
    outage = Outage(frozenset({2}), 6.0, 14.0, frozenset({2}))
    assert "expected p1 to go on" in judged(ORDERS, stores, bank, [outage])[0]


def test_charges_of_what_may_have_moved_do_not_show_that_its_partition_goes_on() -> None:
    stores, bank = good()
    moved = {order for order in ORDERS if place_of(order, 3) == 3}
    bank.charged = {(order, number): 5.0 if order in moved else 50.0 for order, number in bank.charged}
    outage = Outage(frozenset({2}), 0.0, 10.0, frozenset({2, 3}))
    assert "expected p1 to go on" in judged(ORDERS, stores, bank, [outage])[0]


def test_findings_of_one_kind_do_not_hide_those_of_another() -> None:
    stores, bank = good()
    stores.reverse()
    bank.keys["charge", ("order-1", 0)] = {"a/1/bank.charge/1", "a/1/bank.charge/2"}
    assert any("under one key" in line for line in judged(ORDERS, stores, bank, []))


class CommandsRefused(PartitionsCommands):
    """Commands that are refused a number of times; a store would be stopped before each that is repeated."""

    def __init__(self, logs: Path, refusals: int) -> None:
        super().__init__(Journal(logs))
        self.faults = faults_of_two_servers(logs, self)
        self.tries = 0
        self._left = refusals

    async def run(
        self, act: str, stores: Sequence[str], variables: Mapping[str, str] = NOTHING, *, seconds: float | None = None
    ) -> tuple[int, str]:
        if self.tries:
            async with asyncio.timeout(1):
                await self.faults.stop_a_server()
        self.tries += 1
        self._left -= 1
        return (3, "a store is stopped") if self._left >= 0 else (0, "nothing")


def faults_of_two_servers(logs: Path, commands: PartitionsCommands) -> PartitionFaults:
    """Faults over servers that do not run."""
    stores = ServerStores([Server(logs, logs, {}), Server(logs, logs, {})])
    chance, journal = random.Random(1), Journal(logs)
    workers = Workers(logs, (1, STORE), stores.addresses, chance, journal)

    async def taken_on(_: Sequence[str]) -> None:
        return None

    plan = PartitionsPlan(stores=stores, seconds=1, seed=1, logs=logs)
    return PartitionFaults(plan, workers, Growth(stores, workers, chance, taken_on, commands), commands, journal)


async def test_no_store_is_stopped_while_a_refused_command_is_repeated(tmp_path: Path) -> None:
    commands = CommandsRefused(tmp_path, refusals=1)
    await commands.until(lambda code: code == 0, "add", [])
    assert (commands.broken, commands.tries, commands.faults.outages) == ([], 2, [])


async def test_an_outage_waits_for_the_workers_of_healthy_partitions_alone(tmp_path: Path) -> None:
    workers = Workers(tmp_path, (1, STORE), ["first", "second"], random.Random(1), Journal(tmp_path))
    waiting = asyncio.ensure_future(workers.until_at_work({2}))
    await asyncio.sleep(0)
    assert not waiting.done()
    workers.all[0].at_work.set()
    await waiting


@pytest.mark.faults
@pytest.mark.servers
@pytest.mark.timeout(MOST_SECONDS + 60)
async def test_a_short_torture_of_two_partitions_holds(tmp_path: Path) -> None:
    """A third store is added beside the outages, and the mover of its share is killed at each of its points."""
    with storing("postgresql", 2) as stores:
        verdict = await tortured(stores, tmp_path, 15, 400_000_002)
    assert_nothing_broken(verdict, tmp_path)
    assert verdict.shares >= 1
    assert verdict.movers_killed >= len(POINTS)
    assert verdict.kills > 0
    assert verdict.outages > 0


@pytest.mark.faults
@pytest.mark.servers
@pytest.mark.timeout(MOST_SECONDS + 60)
async def test_a_short_torture_with_a_third_store_whose_share_moves_holds(tmp_path: Path) -> None:
    """The mover is killed at each of its points, with kills of workers between."""
    with storing("sqlite", 2) as stores:
        verdict = await tortured(stores, tmp_path, 1, 560_000_016)
    assert_nothing_broken(verdict, tmp_path)
    assert verdict.shares == 1
    assert verdict.movers_killed >= len(POINTS)
    assert verdict.kills >= len(POINTS)


@pytest.mark.faults
@pytest.mark.servers
@pytest.mark.timeout(MOST_SECONDS + 60)
@pytest.mark.parametrize("kind", ["nats", "rabbitmq"])
async def test_a_short_torture_of_two_partitions_at_a_broker_holds(kind: str, tmp_path: Path) -> None:
    with storing("postgresql", 2) as stores, carrying(kind) as transport:
        verdict = await tortured(stores, tmp_path, 15, 540_000_119, transport)
    assert_nothing_broken(verdict, tmp_path)
    assert verdict.kills > 0
    assert verdict.outages > 0


@pytest.mark.faults
@pytest.mark.servers
@pytest.mark.timeout(MOST_SECONDS + 60)
async def test_a_short_torture_with_a_third_store_whose_share_moves_beside_a_broker_holds(tmp_path: Path) -> None:
    with storing("sqlite", 2) as stores, carrying("nats") as transport:
        verdict = await tortured(stores, tmp_path, 1, 540_000_120, transport)
    assert_nothing_broken(verdict, tmp_path)
    assert verdict.shares == 1


async def tortured(
    stores: TortureStores, logs: Path, seconds: float, seed: int, transport: str = STORE
) -> PartitionsVerdict:
    plan = PartitionsPlan(stores=stores, transport=transport, seconds=seconds, seed=seed, logs=logs)
    try:
        async with asyncio.timeout(MOST_SECONDS):
            return await torture_partitions(plan)
    except TimeoutError:
        raise AssertionError(f"expected an end within {MOST_SECONDS} s, found none\n{ends_of_logs(logs)}") from None


def assert_nothing_broken(verdict: PartitionsVerdict, logs: Path) -> None:
    assert verdict.broken == [], f"{verdict.table}\n{ends_of_logs(logs)}"
