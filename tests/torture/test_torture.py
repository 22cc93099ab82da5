"""The torture in small: real processes on a PostgreSQL pair, a few faults one after the other, and all of it holds."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.programs import client_of_amqp10
from torture.run import TorturePlan, torture
from torture.servers.cluster import clustered

pytestmark = pytest.mark.servers

SCRIPT = ["kill scheduler", "kill agent", "failover", "pause scheduler"]
COUNTS = {"scheduler": 2, "supervisor": 2, "agent": 2, "submission": 1}


@pytest.mark.faults
@pytest.mark.timeout(400)
def test_a_short_torture_with_a_failover(tmp_path: Path) -> None:
    """Rows 2-5, 11, 12, 34, 52: everything ends whole, and every fault hit a working process."""
    with clustered() as cluster:
        plan = TorturePlan(seconds=10, seed=7, counts=COUNTS, pace=4, script=SCRIPT)
        verdict = asyncio.run(torture(plan, cluster, tmp_path))
    assert verdict.broken == []
    assert verdict.faults.delivered.total() == len(SCRIPT)
    assert len(verdict.books.tasks) > 20


MIGRATED = ["migration under a dump", "migration, killed"]
LOSES = "delete from {schema}.task where finished_at is not null and parent is null;\n"
"""A bug in a migration: it loses tasks that have ended, and nothing else."""


@pytest.mark.faults
@pytest.mark.timeout(400)
@pytest.mark.parametrize("spoilt", ["", LOSES], ids=["good", "loses tasks"])
def test_a_short_torture_with_migrations(tmp_path: Path, spoilt: str) -> None:
    """Row 54: the product's last migration under a dump, and once more by processes of which the first is killed."""
    with clustered() as cluster:
        plan = TorturePlan(seconds=6, seed=7, counts=COUNTS, pace=4, script=MIGRATED, spoilt=spoilt)
        verdict = asyncio.run(torture(plan, cluster, tmp_path))
    assert any("there is no such task: lost" in line for line in verdict.broken) is bool(spoilt)
    if not spoilt:
        assert verdict.broken == []
        assert verdict.faults.delivered.total() == len(MIGRATED)


BESIDE = [
    *("another store's process", "kill agent", "snapshot held", "narrow login takes", "narrow login forges"),
    *("narrow login floods", "narrow login replays", "server's clock stepped", "host's clock stepped"),
]


HURT = [
    "broker stands still",
    "narrow login takes",
    "broker's clients lost",
    "broker killed",
    "broker's connections cut",
]
"""Over AMQP 1.0 the broker itself is hurt, too."""


@pytest.mark.faults
@pytest.mark.timeout(500)
@pytest.mark.parametrize(("transport", "script"), [("nats", BESIDE), ("rabbitmq", BESIDE), ("amqp10", HURT)])
def test_a_short_torture_with_two_applications_at_one_broker(
    tmp_path: Path, transport: str, script: Sequence[str]
) -> None:
    """Rows 37, 41: under one name, with clocks that are stepped and a snapshot that is held."""
    if transport == "amqp10":
        client_of_amqp10()
    with clustered() as cluster:
        plan = TorturePlan(seconds=10, seed=7, counts=COUNTS, pace=4, script=script, transport=transport)
        verdict = asyncio.run(torture(plan, cluster, tmp_path))
    assert verdict.broken == []
    assert [name for name in script if not verdict.faults.delivered[name]] == []
    assert verdict.books.beside is not None
    assert verdict.books.beside.entries
