"""Objects go with their tasks: by retention, by ``delete``, into the archive; orphans go when they are old."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from stepward import App, Client, LargePayloads
from stepward.client import session_of
from stepward.clock import Environment, SystemClock
from stepward.events import Observers
from stepward.large_payloads import folder_of, keeper_of
from stepward.store.contract import BATCH_ENDS
from stepward.store.partitions.placement import initial_shards, shard_of
from stepward.supervisor.deletions.large_payload_objects import ObjectCleaning
from tests.large_payloads.shop import OVER, application, large
from tests.until import until


class LaterClock(SystemClock):
    """The host's clock, some hours on."""

    hours = 0.0

    def wall(self) -> float:
        return super().wall() + self.hours * 3600

    def boot(self) -> float:
        return super().boot() + self.hours * 3600


def objects(folder: Path) -> list[str]:
    return sorted(str(file.relative_to(folder / "shop")) for file in folder.rglob("*") if file.is_file())


async def cards(client: Client, *ids: str) -> None:
    for id in ids:
        await (await client.submit("child", large(id), id=id)).result(timeout=30)


async def test_retention_deletes_the_objects_of_the_tasks_that_it_deletes(tmp_path: Path) -> None:
    folder = tmp_path / "large"
    store = f"sqlite:///{tmp_path / 'shop.db'}"
    async with (app := application(store, f"file://{folder}")).running(supervisor=False), app.client() as client:
        await cards(client, "one", "two")
    assert len(objects(folder)) == 4
    archive = tmp_path / "archive"
    archive.mkdir()
    app = application(store, f"file://{folder}", retention="1s", archive=str(archive))
    await until(lambda: _after_a_pass(app, folder), lambda found: not found)
    assert len([file for file in archive.rglob("objects/*/*/*") if file.is_file()]) == 4


async def test_delete_reaches_the_objects_of_a_task(tmp_path: Path) -> None:
    folder = tmp_path / "large"
    app = application(f"sqlite:///{tmp_path / 'shop.db'}", f"file://{folder}")
    async with app.running(supervisor_every="50ms"), app.client() as client:
        await cards(client, "gone", "kept")
        kept = (await client.task("kept").status()).uid
        found = await client.batches.preview("delete", "id = 'gone'")
        batch = await client.batches.start(found, rate=500)
        await until(lambda: client.batches.get(batch.id), lambda now: now.state in BATCH_ENDS)
        await until(lambda: _listed(folder), lambda now: len(now) == 2)
        assert {name.rpartition("/")[0] for name in objects(folder)} == {folder_of(kept)}


async def test_orphans_are_deleted_once_they_are_old_and_nothing_else_is(tmp_path: Path) -> None:
    folder = tmp_path / "large"
    app = application(f"sqlite:///{tmp_path / 'shop.db'}", f"file://{folder}")
    clock = LaterClock()
    async with app.running(supervisor=False), app.client() as client:
        await (await client.submit("order", large("live"), id="live")).signal("approved", large("yes"))
        await client.task("live").result(timeout=30)
        live = objects(folder)
        keeper = keeper_of(
            "shop",
            LargePayloads(f"file://{folder}", over_bytes=OVER),
            encrypts=False,
            environment=Environment(clock),
        )
        assert keeper is not None
        await keeper.put("01890000-0000-7000-8000-000000000000", large("lost").encode())
        await keeper.put(f"{(await client.task('live').status()).uid}/1/never/1", large("lost").encode())
        store = session_of(client).store.supervisor
        cleaning = ObjectCleaning(store, keeper, observers=Observers(), environment=Environment(clock))
        await cleaning.run(in_background=False)
        assert len(objects(folder)) == len(live) + 2
        clock.hours = 25.0
        await cleaning.run(in_background=False)
        assert objects(folder) == live


async def test_a_supervisor_of_one_store_leaves_the_objects_of_the_others(tmp_path: Path) -> None:
    folder = tmp_path / "large"
    stores = [f"sqlite:///{tmp_path / name}.db" for name in ("a", "b")]
    app = application(stores, f"file://{folder}")
    ids = [f"card-{number}" for number in range(6)]
    assert len({shard_of(id) in initial_shards(2)[0] for id in ids}) == 2
    async with app.running(supervisor=False), app.client() as client:
        await cards(client, *ids)
    live = objects(folder)
    keeper = keeper_of("shop", LargePayloads(f"file://{folder}", over_bytes=OVER), encrypts=False)
    assert keeper is not None
    await keeper.put("01890000-0000-7000-8000-000000000000", large("lost").encode())
    for file in folder.rglob("*"):
        if file.is_file():
            os.utime(file, (0.0, 0.0))
    await app.supervise_once()
    assert objects(folder) == live


async def test_a_missing_object_calls_an_operator_and_the_task_goes_on_once_it_is_back(tmp_path: Path) -> None:
    folder = tmp_path / "large"
    store = f"sqlite:///{tmp_path / 'shop.db'}"
    async with (app := application(store, f"file://{folder}")).running(), app.client() as client:
        task = await client.submit("waiting", large("card"), id="w")
        await until(task.status, lambda now: now.state == "waiting")
    hidden = {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()}
    for file in hidden:
        file.unlink()
    async with (app := application(store, f"file://{folder}")).running(), app.client() as client:
        await client.task("w").signal("go")
        await until(client.task("w").status, lambda now: now.state == "error")
        (alert,) = await client.alerts()
        assert "is missing; restore it from a backup" in alert.message
        for file, content in hidden.items():
            file.write_bytes(content)
        await client.task("w").resubmit()
        assert await client.task("w").result(timeout=30) == large("paid card")


async def test_a_changed_object_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "large"
    app = application(f"sqlite:///{tmp_path / 'shop.db'}", f"file://{folder}")
    async with app.running(), app.client() as client:
        await cards(client, "c")
        for file in folder.rglob("*"):
            if file.is_file():
                file.write_bytes(file.read_bytes().replace(b"x", b"y", 1))
        with pytest.raises(Exception, match="was changed; restore it from a backup"):
            await client.task("c").result(timeout=30)


async def _after_a_pass(app: App, folder: Path) -> list[str]:
    await app.supervise_once()
    return objects(folder)


async def _listed(folder: Path) -> list[str]:
    return objects(folder)
