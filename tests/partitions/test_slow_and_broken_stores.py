"""A store that is slow is waited for, and one that does not answer is missing alone."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from stepward import App, Client, wait_for, workflow
from stepward.client import session_of
from stepward.errors import StoreUnusable
from stepward.store.contract import FoundTasks, TaskSearch
from stepward.store.contract.values.partition_record import PartitionRecord
from stepward.store.partitions.placement import initial_shards, shard_of
from tests.until import until


@workflow
async def patient() -> object:
    return await wait_for("go")


@pytest.fixture
def stores(tmp_path: Path) -> list[str]:
    return [f"sqlite:///{tmp_path / name}.db" for name in ("a", "b")]


def id_in(partition: int, nth: int = 0) -> str:
    """An id that is placed in that partition of two, counted from 1."""
    shards = initial_shards(2)[partition - 1]
    return [id for number in range(200) if shard_of(id := f"order-{number}") in shards][nth]


def app_of(stores: list[str]) -> App:
    return App("tools", workflows=[patient], store=stores, poll=0.05, supervisor_every="50ms")


async def test_a_slow_listing_is_waited_for_while_its_store_answers_small_reads(
    stores: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stepward.store.partitions.partition.READ_SECONDS", 0.05)
    async with app_of(stores).client() as client:
        for id in (id_in(1), id_in(2)):
            await client.submit(patient, id=id)
        whole: Any = session_of(client).store
        slow = whole.partitions.members[1].store
        tasks, partition, asked = slow.operators.tasks, slow.host.partition, asyncio.Event()

        async def late(search: TaskSearch) -> FoundTasks:
            await asked.wait()
            return await tasks(search)  # type: ignore[no-any-return]

        async def answering() -> PartitionRecord | None:
            asked.set()
            return await partition()  # type: ignore[no-any-return]

        slow.operators.tasks, slow.host.partition = late, answering
        assert {task.id for task in await client.tasks()} == {id_in(1), id_in(2)}
        assert whole.missing == {}


async def test_a_store_that_answers_no_small_read_either_is_missing(
    stores: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stepward.store.partitions.partition.READ_SECONDS", 0.05)
    async with app_of(stores).client() as client:
        for id in (id_in(1), id_in(2)):
            await client.submit(patient, id=id)
        whole: Any = session_of(client).store
        away = whole.partitions.members[1].store
        away.operators.tasks, away.host.partition = _never, _never
        assert {task.id for task in await client.tasks()} == {id_in(1)}
        assert "found none; look at the store" in whole.missing["p2"]


async def test_a_read_that_lasts_too_long_is_given_up_and_its_store_asked_for_the_next(
    stores: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stepward.store.partitions.partition.READ_SECONDS", 0.05)
    monkeypatch.setattr("stepward.store.partitions.partition.MOST_READ_SECONDS", 0.1)
    async with app_of(stores).client() as client:
        await client.submit(patient, id=id_in(1))
        whole: Any = session_of(client).store
        whole.partitions.members[1].store.operators.tasks = _never
        assert {task.id for task in await client.tasks()} == {id_in(1)}
        assert "at work on it for longer" in whole.missing["p2"]
        assert (await client.submit(patient, id=id_in(2))).id == id_in(2)
        assert whole.partitions.members[1].failed is None


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Alerts of a store that is down come, and go, at once."""
    monkeypatch.setattr("stepward.store.partitions.partition.DOWN_SECONDS", 0.0)
    monkeypatch.setattr("stepward.supervisor.early_warnings.warning_checks.LOOK_EVERY", 0.0)
    monkeypatch.setattr("stepward.supervisor.early_warnings.warning_checks.HOLD_SECONDS", 0.3)
    monkeypatch.setattr("stepward.partitions_running.UNUSABLE_SECONDS", 0.2)


async def down(client: Client) -> list[object]:
    """The partitions that alerts say are down."""
    alerts = [alert for alert in await client.alerts() if alert.kind == "partition_down"]
    return sorted(json.loads(alert.details)["partition"] for alert in alerts)


@pytest.mark.usefixtures("soon")
async def test_one_alert_names_a_store_that_is_down_until_it_is_back(stores: list[str], tmp_path: Path) -> None:
    stores = [*stores, f"sqlite:///{tmp_path / 'c'}.db"]
    async with app_of(stores).client():
        pass
    (tmp_path / "b.db").rename(tmp_path / "away.db")
    (tmp_path / "b.db").mkdir()
    for served in (True, ("p1", "p3")):
        app = app_of(stores)
        async with app.running(partitions=served), app.client() as client:
            assert await until(lambda: down(client), bool) == ["p2"]
            (tmp_path / "b.db").rmdir()
            (tmp_path / "away.db").rename(tmp_path / "b.db")
            await until(lambda: down(client), lambda found: not found)
        (tmp_path / "b.db").rename(tmp_path / "away.db")
        (tmp_path / "b.db").mkdir()


@pytest.mark.usefixtures("soon")
async def test_a_store_of_a_newer_version_stops_its_share_alone(stores: list[str]) -> None:
    async with app_of(stores).client():
        pass
    version = set_version(stores[1], "9999")
    app = app_of(stores)
    async with app.running(), app.client() as client:
        await until(lambda: down(client), bool)
        (alert,) = await client.alerts()
        assert "schema version" in alert.message and "upgrade this program" in alert.message
        await client.submit(patient, id=id_in(1))
        await client.task(id_in(1)).signal("go", 1)
        assert await client.task(id_in(1)).result(timeout=30) == 1
        set_version(stores[1], version)
        await until(lambda: down(client), lambda found: not found)
        await client.submit(patient, id=id_in(2))
        await client.task(id_in(2)).signal("go", 2)
        assert await client.task(id_in(2)).result(timeout=30) == 2


def set_version(store: str, version: str) -> str:
    with closing(sqlite3.connect(store.removeprefix("sqlite:///"))) as connection, connection:
        ((before,),) = connection.execute("select value from stepward_meta where key = 'schema_version'")
        connection.execute("update stepward_meta set value = ? where key = 'schema_version'", (version,))
    return str(before)


@pytest.mark.usefixtures("soon")
async def test_actors_of_a_store_that_cannot_be_used_any_more_end_and_start_again(
    stores: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    app = app_of(stores)
    async with app.running() as running, app.client() as client:
        spoil(running)
        await until(lambda: down(client), bool)
        for id in (id_in(1), id_in(2)):
            await client.submit(patient, id=id)
            await client.task(id).signal("go", id)
            assert await client.task(id).result(timeout=30) == id
        await until(lambda: down(client), lambda found: not found)
    assert [record.getMessage() for record in caplog.records if "partition.failed" in record.getMessage()] == [
        "partition.failed partition=p2 error=damaged"
    ]


async def test_a_process_ends_where_its_only_store_cannot_be_used_any_more(stores: list[str]) -> None:
    with pytest.raises(StoreUnusable, match="damaged"):
        async with app_of(stores).running(partitions=["p2"]) as running:
            spoil(running)
            async with asyncio.timeout(30):
                await running.wait()


async def test_a_new_application_is_not_begun_beside_a_file_that_is_no_store(stores: list[str], tmp_path: Path) -> None:
    (tmp_path / "b.db").write_bytes(b"no database" * 1000)
    with pytest.raises(StoreUnusable, match="another kind of file"):
        async with app_of(stores).running():
            pass


def spoil(running: Any) -> None:
    """Lets the actors of p2 find their store damaged."""

    async def lead(*_: object) -> None:
        raise StoreUnusable("damaged")

    running._started[2].store.supervisor.lead = lead


async def _never(*_: object) -> None:
    await asyncio.Event().wait()
