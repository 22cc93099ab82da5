"""Clients see one application over two stores; a store that is down stops its share alone; wrong lists are refused."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from stepward import Accepted, Agent, App, Client, Message, Singleton, TaskNotFound, wait_for, workflow
from stepward.cli.input.operator_store import operator_client
from stepward.client import TaskStatus, session_of
from stepward.errors import (
    BatchNotFound,
    IllegalTransition,
    Refused,
    SettingsError,
    StoreUnavailable,
    StoreUnusable,
)
from stepward.settings import Settings
from stepward.store.contract import Transaction
from stepward.store.partitions.placement import initial_shards, shard_of
from stepward.store.sqlite.store import SqliteStore
from stepward.views.relatives import family
from tests.until import until

tools = Agent("tools")


@tools.operation()
async def double(number: int) -> int:
    return 2 * number


@workflow
async def child(number: int) -> int:
    return await double(number)


@workflow
async def doubled(number: int) -> int:
    return await child(number)


@workflow
async def patient() -> object:
    return await wait_for("go")


async def accept(message: Message, transaction: Transaction) -> Accepted:
    return Accepted(doubled, message.read(int))


@pytest.fixture
def stores(tmp_path: Path) -> list[str]:
    return [f"sqlite:///{tmp_path / name}.db" for name in ("a", "b")]


def app_of(stores: Sequence[str] | str, name: str = "tools") -> App:
    app = App(name, workflows=[child, doubled, patient], agents=[tools], store=stores, poll=0.05)
    app.submission("numbers", accept=accept)
    return app


def ids_of(partition: int, count: int) -> list[str]:
    """So many ids that are placed in that partition of two, counted from 1."""
    shards = initial_shards(2)[partition - 1]
    return [id for number in range(40 * count) if shard_of(id := f"order-{number}") in shards][:count]


async def in_store(store: str, where: str | None = None) -> set[str]:
    """The ids of the tasks in one store, looked at alone."""

    async with operator_client(Settings(store=store)) as client:
        return {task.id for task in await client.tasks(limit=1000, where=where)}


async def test_tasks_and_their_children_are_placed_by_id_and_read_as_one_application(stores: list[str]) -> None:
    ids = [*ids_of(1, 3), *ids_of(2, 3)]
    async with app_of(stores).running(), app_of(stores).client() as client:
        handles = await client.submit_many(doubled, [(n,) for n in range(6)], ids=ids)
        assert [await handle.result(timeout=30) for handle in handles] == [0, 2, 4, 6, 8, 10]
        found = await client.tasks(workflow="doubled", limit=100)
        assert {task.id for task in found} == set(ids)
        assert found == sorted(found, key=lambda task: task.created_at, reverse=True)
        assert (await client.count(workflow="child")).number == 6
        page, rest = await client.tasks(limit=5), list[TaskStatus]()
        while page.cursor is not None:
            rest += page
            page = await client.tasks(limit=5, cursor=page.cursor)
        assert len({task.id for task in [*rest, *page]}) == 12
        assert {instance.role for instance in await client.instances()} == {
            "scheduler",
            "agent",
            "supervisor",
            "submission",
        }
    for partition, store in enumerate(stores, 1):
        here = ids_of(partition, 3)
        assert await in_store(store) == {*here, *(f"{id}/child/1" for id in here)}


async def test_a_client_of_the_process_and_one_apart_find_signals_updates_and_queues(stores: list[str]) -> None:
    app = app_of(stores)
    async with app.running(), app.client() as client, Client(stores, app="tools") as apart:
        for id in (*ids_of(1, 1), *ids_of(2, 1)):
            await apart.submit("patient", id=id)
            await client.task(id).signal("go", id)
            assert await apart.task(id).result(timeout=30) == id
        with pytest.raises(TaskNotFound):
            await apart.task("nobody").status()
        posted = [*ids_of(1, 3)[1:], *ids_of(2, 3)[1:]]
        for number, id in enumerate(posted):
            await session_of(apart).post("numbers", number, id)
        await until(lambda: client.count(state="processed", workflow="doubled"), lambda found: found.number == 4)
        assert [await client.task(id).result() for id in posted] == [0, 2, 4, 6]


async def test_a_response_queue_and_schedules_are_those_of_all_partitions(stores: list[str]) -> None:
    app = app_of(stores)
    ids = [*ids_of(1, 2), *ids_of(2, 2)]
    async with app.running(), app.client() as client:
        for number, id in enumerate(ids):
            await client.submit(child, number, id=id, reply_to="replies.tools.web")
        seen: dict[str, list[int]] = {id: [] for id in ids}
        async with asyncio.timeout(30):
            async for event in client.events("replies.tools.web"):
                seen[event.subject].append(event.sequence)
                if event.type == "stepward.task.completed":
                    ids.remove(event.subject)
                if not ids:
                    break
        assert all(sequences == sorted(set(sequences)) for sequences in seen.values())
        names = [f"nightly-{number}" for number in range(6)]
        for name in names:
            await client.create_schedule(name, child, (1,), every="1h")
        assert [schedule.name for schedule in await client.schedules()] == names
        started = [(await client.trigger_schedule(name)).id for name in names]
        assert [await client.task(id).result(timeout=30) for id in started] == [2] * 6
        assert [shard_of(id) for id in started] == [shard_of(name) for name in names]
        assert await client.pause_schedule(names[0])
        await client.remove_schedule(names[1])
        assert len(await client.schedules()) == 5


async def test_a_schedule_that_code_declares_stands_where_its_name_is_placed_alone(stores: list[str]) -> None:
    app, names = app_of(stores), [f"nightly-{number}" for number in range(6)]
    for name in names:
        app.schedule(name, child, "0 3 * * *", args=(1,))
    async with app.running(), app.client() as client:
        assert [schedule.name for schedule in await client.schedules()] == names
        await asyncio.gather(*(client.trigger_schedule(name) for name in names))


async def test_messages_that_a_reader_failed_over_are_read_again(stores: list[str]) -> None:
    async with app_of(stores).client() as client:
        whole: Any = session_of(client).store

        async def put() -> None:
            for member in whole.partitions.members:
                await member.store.messages.put("replies.tools.web", [(b"[]", None)])

        await put()
        first = await whole.messages.read("replies.tools.web", 0, 10)
        last = first[-1].token
        assert len(first) == 2 and not await whole.messages.read("replies.tools.web", last, 10)
        await put()
        second = await whole.messages.read("replies.tools.web", last, 10)
        assert len(second) == 2 and await whole.messages.read("replies.tools.web", last, 10) == second
        assert not await whole.messages.read("replies.tools.web", second[-1].token, 10)
        assert len(await whole.messages.read("replies.tools.web", 0, 10)) == 4


async def test_what_is_set_for_all_is_set_in_every_store(stores: list[str]) -> None:
    app = app_of(stores)
    async with app.running(), app.client() as client:
        assert await client.suspend_agent("tools", "for a while")
        held = [await client.submit(child, 1, id=id) for id in (*ids_of(1, 1), *ids_of(2, 1))]
        (agent,) = await client.agents()
        assert agent.state == "suspended"
        assert await client.resume_agent("tools")
        assert [await handle.result(timeout=30) for handle in held] == [2, 2]
        preview = await client.batches.preview("delete", "state = 'processed'")
        assert preview.count.number == 2
        batch = await client.batches.start(preview)
        done = await until(lambda: client.batches.get(batch.id), lambda found: found.state == "done")
        assert done.done == 2
        assert await client.tasks() == []
        acts = [act for act in await client.audits() if act.act == "suspend"]
        assert len(acts) == 2


async def test_a_batch_is_steered_where_its_part_has_not_ended(stores: list[str]) -> None:
    async with app_of(stores).client() as client:
        for id in (*ids_of(1, 1), *ids_of(2, 1)):
            await client.submit(patient, id=id)
        batch = await client.batches.start(await client.batches.preview("cancel", "state = 'pending'"))
        whole: Any = session_of(client).store
        await whole.partitions.members[1].store.operators.steer_batch(batch.id, "stop", "somebody")
        assert (await client.batches.pause(batch.id)).state == "paused"
        assert (await client.batches.stop(batch.id)).state == "stopped"
        with pytest.raises(IllegalTransition, match="found it stopped"):
            await client.batches.stop(batch.id)
        with pytest.raises(BatchNotFound):
            await client.batches.stop("unknown")


async def test_a_key_finds_its_task_wherever_that_is(stores: list[str]) -> None:
    app = app_of(stores)
    async with app.running(), app.client() as client:
        keys = [f"key/{number}" for number in range(6)]
        first = [await client.submit(patient, per_key=Singleton(key, if_running="join")) for key in keys]
        again = [await client.submit(patient, per_key=Singleton(key, if_running="join")) for key in keys]
        assert [handle.id for handle in first] == [handle.id for handle in again]
        for handle in first:
            await handle.signal("go", 1)
            assert await handle.result(timeout=30) == 1
        assert len([store for store in stores if await in_store(store)]) == 2
        with pytest.raises(Refused, match="expected no id beside it"):
            await client.submit(patient, id="chosen", per_key=Singleton("x"))
        with pytest.raises(Refused, match="expected an application with one store, found 2 partitions"):
            async with client.transaction():
                pass


async def test_a_store_that_is_down_stops_its_share_alone(stores: list[str], tmp_path: Path) -> None:
    async with app_of(stores).client() as client:
        await client.submit_many(patient, [(), ()], ids=[ids_of(1, 1)[0], ids_of(2, 1)[0]])
    (tmp_path / "b.db").rename(tmp_path / "away.db")
    (tmp_path / "b.db").mkdir()
    app = app_of(stores)
    async with app.running(), app.client() as client:
        store: Any = session_of(client).store
        (here,) = ids_of(1, 1)
        await client.task(here).signal("go", "on")
        assert await client.task(here).result(timeout=30) == "on"
        assert [task.id for task in await client.tasks()] == [here]
        assert list(store.missing) == ["p2"]
        with pytest.raises(StoreUnavailable, match="partition p2"):
            await client.submit(patient, id=ids_of(2, 2)[1])
        parent = ids_of(1, 2)[1]
        assert await (await client.submit(doubled, 1, id=parent)).result(timeout=30) == 2
        shown = await family(client, await session_of(client).record(f"{parent}/child/1"), [])
        assert shown.parent == parent
        with pytest.raises(StoreUnavailable, match="partition p2"):
            await store.supervisor.outlived_tasks(["of-the-other"], "")
        (tmp_path / "b.db").rmdir()
        (tmp_path / "away.db").rename(tmp_path / "b.db")
        (there,) = ids_of(2, 1)
        await until(lambda: client.tasks(workflow="patient"), lambda found: len(found) == 2)
        assert not store.missing
        await client.task(there).signal("go", "back")
        assert await client.task(there).result(timeout=30) == "back"


async def test_a_process_may_serve_one_partition(stores: list[str]) -> None:
    app = app_of(stores)
    (here,), (there,) = ids_of(1, 1), ids_of(2, 1)
    async with app.running(partitions=["p2"]), app.client() as client:
        await client.submit(doubled, 1, id=here)
        handle = await client.submit(doubled, 2, id=there)
        assert await handle.result(timeout=30) == 4
        assert (await client.task(here).status()).state == "pending"


async def test_one_pass_of_the_supervisor_goes_over_every_store(stores: list[str], tmp_path: Path) -> None:
    app = app_of(stores)
    async with app.client() as client:
        for name in ("nightly", "weekly", "daily", "hourly"):
            await client.create_schedule(name, child, (1,), every="1s")
        due = [schedule.next_at for schedule in await client.schedules() if schedule.next_at is not None]
        await until(lambda: waited(app), lambda now: now > max(due))
        assert (await app.supervise_once()).fired >= 4
        assert len({shard_of(task.id) in initial_shards(2)[0] for task in await client.tasks()}) == 2


async def test_each_store_has_an_archive_of_its_own(stores: list[str], tmp_path: Path) -> None:
    archive = tmp_path / "archive"
    archive.mkdir()
    app = App("tools", workflows=[child], agents=[tools], store=stores, retention="1s", archive=str(archive))
    async with app.running(supervisor=False), app.client() as client:
        for id in (*ids_of(1, 1), *ids_of(2, 1)):
            await (await client.submit(child, 1, id=id)).result(timeout=30)

    async def archived() -> set[str]:
        await app.supervise_once()
        return {file.relative_to(archive).parts[0] for file in archive.rglob("*.jsonl.gz")}

    assert await until(archived, lambda found: len(found) > 1) == {"p1", "p2"}


async def waited(app: App) -> float:
    async with app.client() as client:
        return session_of(client).store.now()


async def test_lists_that_cannot_be_are_refused_in_one_line(stores: list[str]) -> None:
    async with app_of(stores).client():
        pass
    with pytest.raises(SettingsError, match="in the order p1, p2, found p2"):
        async with app_of(stores[::-1]).running():
            pass
    for alone in stores:
        with pytest.raises(SettingsError, match="expected all 2 partitions of the application in one list"):
            async with app_of(alone).running():
                pass
        with pytest.raises(SettingsError, match="expected all 2 partitions of the application in one list"):
            async with Client(alone, app="tools"):
                pass
    with pytest.raises(StoreUnusable, match="others"):
        async with app_of(stores, "others").running():
            pass
    with pytest.raises(SettingsError, match="found 3 stores; name p1, p2"):
        async with app_of([*stores, stores[0].replace("a.db", "c.db")]).client():
            pass
    with pytest.raises(SettingsError, match="expected some of p1, p2, found p3"):
        async with app_of(stores).running(partitions=["p3"]):
            pass


async def test_a_list_that_is_refused_leaves_no_store_open(stores: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    async with app_of(stores[1], "others").client():
        pass
    opened, closed = list[object](), list[object]()
    opens, closes = SqliteStore.open, SqliteStore.close

    async def opening(store: SqliteStore) -> None:
        await opens(store)
        opened.append(store)

    async def closing(store: SqliteStore) -> None:
        await closes(store)
        closed.append(store)

    monkeypatch.setattr(SqliteStore, "open", opening)
    monkeypatch.setattr(SqliteStore, "close", closing)
    with pytest.raises(StoreUnusable, match="others"):
        async with app_of(stores).client():
            pass
    assert len(opened) == 1 and closed == opened


async def test_a_store_with_tasks_becomes_no_partition(stores: list[str]) -> None:
    async with app_of(stores[0]).client() as client:
        await client.submit(patient)
    with pytest.raises(SettingsError, match="found tasks in"):
        async with app_of(stores).client():
            pass
    async with app_of(stores[0]).client() as client:
        assert len(await client.tasks()) == 1


async def test_a_new_store_in_the_place_of_a_partition_is_refused_and_stays_new(
    stores: list[str], tmp_path: Path
) -> None:
    async with app_of(stores).client() as client:
        await client.submit_many(patient, [(), ()], ids=[ids_of(1, 1)[0], ids_of(2, 1)[0]])
    empty = f"sqlite:///{tmp_path / 'empty.db'}"
    for wrong in ([stores[0], empty], [empty, stores[1]]):
        with pytest.raises(SettingsError, match=r"found .*empty\.db, a new store"):
            async with app_of(wrong).client():
                pass
    async with app_of(empty).client() as client:
        assert await client.tasks() == []
