"""The oracle of torture over partitions finds each planted wrong end; a short run of it holds."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from servers import postgres
from stepward import TaskState
from torture.partitions.application import CHARGES, is_refused
from torture.partitions.oracle import Outage, judged, place_of
from torture.partitions.run import PartitionsPlan, torture_partitions
from torture.partitions.service import Bank

ORDERS = [f"order-{number}" for number in range(1, 21)]
CALM = Outage(2, 0.0, 10.0)


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


def test_a_healthy_partition_that_stopped_is_found() -> None:
    stores, bank = good()
    assert "expected p1 to go on" in judged(ORDERS, stores, bank, [Outage(2, 6.0, 14.0)])[0]


@pytest.mark.faults
@pytest.mark.servers
async def test_a_short_torture_of_two_partitions_holds(tmp_path: Path) -> None:
    with postgres.running() as first, postgres.running() as second:
        plan = PartitionsPlan(servers=[first, second], seconds=15, seed=400_000_002, logs=tmp_path)
        async with asyncio.timeout(300):
            verdict = await torture_partitions(plan)
    assert verdict.broken == []
    assert verdict.kills > 0
    assert verdict.outages > 0
