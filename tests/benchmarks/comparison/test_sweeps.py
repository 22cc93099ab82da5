"""Every size that is varied is measured, in sizes that say nothing but that it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.comparison import sweeps
from benchmarks.comparison.sweeps import QUEUES, SWEEPS
from benchmarks.store_locations import SqlitePlace

pytestmark = pytest.mark.servers


@pytest.fixture
def place(tmp_path: Path) -> SqlitePlace:
    return SqlitePlace(tmp_path)


async def test_stored_tasks(place: SqlitePlace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweeps, "GROWTH_TASKS", 20)
    assert (await SWEEPS["stored-sqlite"].measure(place, "30"))["cpu_us_per_step"] > 0


async def test_tasks_in_flight_come_in_waves(place: SqlitePlace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweeps, "FLIGHT_TASKS", 60)
    figures = await SWEEPS["flight-sqlite"].measure(place, "20")
    assert figures["steps_per_s"] > 0
    assert figures["rss_mib"] > 0


def test_every_transport_with_queues_between_processes_is_measured() -> None:
    assert QUEUES.keys() == {"store", "NATS", "RabbitMQ", "AMQP 1.0"}
