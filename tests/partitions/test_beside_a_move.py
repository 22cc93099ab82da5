"""What clients, operators and other processes find of tasks that move, or have moved, to a new store."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from itertools import count, islice
from pathlib import Path
from typing import Any

import pytest

from stepward import Client, ScheduleNotFound, Singleton, StoreUnavailable, TaskNotFound
from stepward.client import session_of
from stepward.client.queues.posting import put_message
from stepward.clock import Environment
from stepward.errors import Refused, TransportError
from stepward.model.states import TASK_ENDS
from stepward.store.contract import (
    Completion,
    Fork,
    FoundTasks,
    Refusal,
    RefusalReason,
    StoredMessage,
    Submitted,
    TaskSearch,
)
from stepward.store.partitions.partitioned_store import PartitionedStore
from stepward.store.partitions.placement import SHARDS, initial_shards, shard_of, shard_of_key
from tests.partitions.places import changed, in_files, looked_up
from tests.partitions.test_moving import FAILPOINTS, MOVED, Bank, add, application, ended, homes, move
from tests.tiers import nightly
from tests.until import until


@pytest.fixture(params=["sqlite", nightly("postgres")])
def stores(request: pytest.FixtureRequest, tmp_path: Path) -> list[str]:
    """As in ``conftest.py``; what both engines have in common is tried on one of them for each change."""
    return list(request.getfixturevalue("postgres_stores")) if request.param == "postgres" else in_files(tmp_path)


def ids(prefix: str, shards: frozenset[int]) -> Iterator[str]:
    """Ids that are placed in these shards."""
    return (id for n in count() if shard_of(id := f"{prefix}-{n}") in shards)


MOVING = MOVED & initial_shards(2)[0]


async def ended_or_buried(client: Client, order: str) -> None:
    """Waits until the task has ended, or any message is a dead letter."""
    async with asyncio.timeout(30):
        while not await client.dead_letters():
            with suppress(TaskNotFound):
                if (await client.task(order).status()).state in TASK_ENDS:
                    return
            await asyncio.sleep(0.05)


async def test_acts_on_a_task_are_found_after_it_has_moved(stores: list[str]) -> None:
    bank, moving = Bank(), next(ids("order", MOVING))
    async with application(stores[:2], bank).client() as client:
        await (await client.submit("fulfil", moving, id=moving)).suspend()
        await add(stores)
    async with application(stores, bank).running(), application(stores, bank).client() as client:
        await move(stores)
        assert [(act.act, act.task_id) for act in await client.audits(moving)] == [("suspend", moving)]


async def test_signals_to_a_task_on_its_way_are_delivered_once_it_has_arrived(stores: list[str]) -> None:
    bank, second = Bank(), sorted(MOVED)[1]
    moving = next(ids("order", frozenset({second})))
    async with application(stores[:2], bank).client() as client:
        await client.submit("fulfil", moving, id=moving)
        await add(stores)
    async with application(stores, bank).running(), application(stores, bank).client() as client:
        await move(stores, FAILPOINTS[2])
        reading = asyncio.create_task(client.task(moving).status())
        await asyncio.sleep(0.2)
        signalling = asyncio.create_task(client.task(moving).signal("paid", moving, id="once"))
        await asyncio.sleep(0.2)
        await move(stores)
        assert (await reading).id == moving
        await signalling


async def test_a_process_without_the_new_store_knows_no_owners_of_objects(stores: list[str]) -> None:
    """Its Supervisor would delete the large payloads of the tasks that have moved."""
    bank, moving = Bank(), next(ids("order", MOVING))
    old = PartitionedStore(stores[:2], app="moving", environment=Environment())
    async with application(stores[:2], bank).client() as client:
        uid = (await (await client.submit("fulfil", moving, id=moving)).status()).uid
        await old.open()
        await add(stores)
    async with application(stores, bank).running():
        assert await old.supervisor.known_owners([uid]) == {uid}
        await move(stores)
        with pytest.raises(StoreUnavailable, match="every store of the application"):
            await old.supervisor.known_owners([uid])
        with pytest.raises(StoreUnavailable, match="every store of the application"):
            await old.supervisor.family(uid, 10)
        with pytest.raises(StoreUnavailable, match="every store of the application"):
            await old.operators.schedule("nightly")
    await old.close()


async def test_messages_that_move_become_tasks_at_once(stores: list[str]) -> None:
    """The submission that takes them may not have seen yet that their shard is there."""
    bank, posted = Bank(), list(islice(ids("order", MOVING), 20))
    async with application(stores[:2], bank).client() as client:
        for order in posted:
            await session_of(client).post("orders", None, order)
        await add(stores)
    async with application(stores, bank).running(partitions=["p3"]), application(stores, bank).client() as client:
        await move(stores)
        for order in posted:
            await ended_or_buried(client, order)
        assert await client.dead_letters() == []
        assert set(homes(stores)) == set(posted)


async def test_a_fork_takes_no_id_of_a_shard_that_has_left(stores: list[str]) -> None:
    bank = Bank()
    stays, moved = next(ids("quick", initial_shards(3)[0])), next(ids("fork", MOVING))
    async with application(stores[:2], bank).client():
        await add(stores)
    async with application(stores, bank).running(), application(stores, bank).client() as client:
        await (await client.submit("narrow", stays, id=stays)).result(timeout=30)
        await move(stores)
        with pytest.raises(Refused, match="expected an id that is placed in partition p1"):
            await client.task(stays).fork("bank.charge/1", id=moved)
        assert looked_up(stores[0], "select id from stepward_task") == [(stays,)]


async def test_a_fork_of_a_task_that_moves_meanwhile_is_made_where_the_task_arrives(stores: list[str]) -> None:
    """It waits while the shard is copied, and the store that the task has left knows of none then."""
    bank, moving = Bank(), next(ids("order", MOVING))
    async with application(stores[:2], bank).client():
        await add(stores)
    async with application(stores, bank).running(), application(stores, bank).client() as client:
        task = await client.submit("narrow", moving, id=moving)
        await task.result(timeout=30)
        store = session_of(client).store
        assert isinstance(store, PartitionedStore)
        first = store.partitions.placed(moving).store.client
        made = first.fork

        async def late(fork: Fork) -> Submitted:
            await move(stores)
            return await made(fork)

        first.fork = late  # type: ignore[method-assign]
        forked = await task.fork("bank.charge/1")
        assert homes(stores) == {moving: [2], forked.id: [2]}


async def test_a_message_is_put_where_its_shard_is_alone(stores: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """One in the store that its shard has left would be a dead letter, though the task is begun."""
    bank, (first, second) = Bank(), islice(ids("order", MOVING), 2)
    monkeypatch.setattr("stepward.store.partitions.messages.REFRESH_SECONDS", 600.0)
    async with application(stores[:2], bank).client():
        await add(stores)
    async with application(stores, bank).running(), application(stores, bank).client() as client:
        await session_of(client).post("orders", None, first)
        await ended(client, first)
        await move(stores)
        await session_of(client).post("orders", None, second)
        await ended(client, second)
        queued = "select count(*) from stepward_message where queue like '%submissions%'"
        await until(lambda: asyncio.sleep(0, looked_up(stores[0], queued)), lambda found: found == [(0,)])
        letters = "select count(*) from stepward_dead_letter"
        assert [looked_up(store, letters) for store in stores] == [[(0,)], [(0,)], [(0,)]]


async def test_a_task_that_moves_while_it_is_listed_is_listed_once(stores: list[str]) -> None:
    """The store that it leaves is read before, the one to which it moves after."""
    bank, moving = Bank(), list(islice(ids("order", MOVING), 3))
    async with application(stores[:2], bank).client() as client:
        for order in moving:
            await client.submit("fulfil", order, id=order)
        await add(stores)
    whole = PartitionedStore(stores, app="moving", environment=Environment())
    await whole.open()
    operators = whole.partitions.members[-1].store.operators
    tasks, begun = operators.tasks, asyncio.Event()

    async def late(search: TaskSearch) -> FoundTasks:
        if not begun.is_set():
            begun.set()
            await move(stores)
        return await tasks(search)

    operators.tasks = late  # type: ignore[method-assign]
    async with application(stores, bank).running():
        found = await whole.operators.tasks(TaskSearch(limit=10))
    listed = [task.id for task in found.tasks]
    assert len(listed) == len(set(listed))
    assert set(listed) >= set(moving)
    await whole.close()


async def test_only_what_may_be_of_the_shard_on_its_way_is_waited_for(
    stores: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The uid of a task whose id was chosen says nothing of its shard."""
    monkeypatch.setattr("stepward.store.partitions.partition_routing.ARRIVAL_SECONDS", 0.1)
    away = sorted(MOVED)[1]
    moving, drawn = next(ids("order", frozenset({away}))), Environment().new_uid()
    async with application(stores[:2], Bank()).client():
        await add(stores)
    async with application(stores, Bank()).running(), application(stores, Bank()).client() as client:
        await move(stores, FAILPOINTS[2])
        unknown = next(ids("none", frozenset(range(SHARDS)) - {away}))
        with pytest.raises(TaskNotFound):
            await client.task(unknown).status()
        with pytest.raises(ScheduleNotFound):
            await client.remove_schedule(unknown)
        for id in (moving, drawn):
            with pytest.raises(StoreUnavailable, match="on its way"):
                await client.task(id).status()


async def test_a_listing_says_which_store_has_not_all_of_its_tasks_yet(stores: list[str]) -> None:
    async with application(stores[:2], Bank()).client():
        await add(stores)
    whole = PartitionedStore(stores, app="moving", environment=Environment())
    await whole.open()
    async with application(stores, Bank()).running():
        await move(stores, FAILPOINTS[2])
        await whole.operators.tasks(TaskSearch(limit=10))
        assert "on its way" in whole.missing["p3"]
        await move(stores)
        await whole.operators.tasks(TaskSearch(limit=10))
        assert whole.missing == {}
    await whole.close()


async def test_what_was_set_since_the_store_was_added_is_set_there_before_tasks_move(stores: list[str]) -> None:
    app = application(stores[:2], Bank())
    async with app.running(), app.client() as client:
        await add(stores)
        await client.suspend_agent("bank", note="down")
    async with application(stores, Bank()).running(), application(stores, Bank()).client() as whole:
        await move(stores)
        assert looked_up(stores[2], "select note from stepward_agent where name = 'bank'") == [("down",)]
        assert [agent.name for agent in await whole.agents()] == ["bank"]


async def test_a_batch_that_goes_on_in_the_new_store_alone_is_waited_for(stores: list[str]) -> None:
    """It would act a second time on what it has gone through in the store that the tasks leave."""
    async with application(stores[:2], Bank()).client() as client:
        await client.submit("fulfil", "order-1", id="order-1")
        await add(stores)
    async with application(stores, Bank()).running(), application(stores, Bank()).client() as client:
        preview = await client.batches.preview("suspend", "workflow = 'fulfil'")
        batch = await client.batches.start(preview, rate=0.01)
        await client.batches.pause(batch.id)
        for store in stores[:2]:
            changed(store, "update stepward_batch set state = 'done', finished_at = created_at")
        with pytest.raises(Refused, match="expected no batch under way"):
            await move(stores)
        assert looked_up(stores[2], "select value ->> 'shards' from stepward_meta where key = 'partition'") == [
            ("0" * 64,)
        ]


async def test_a_batch_does_not_start_while_tasks_are_in_no_store(
    stores: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would end without an act on them."""
    monkeypatch.setattr("stepward.store.partitions.operators.batches.LOOKS", 2)
    moving = next(ids("slow", frozenset({sorted(MOVED)[1]})))
    async with application(stores[:2], Bank()).client() as client:
        await client.submit("fulfil", moving, id=moving)
        await add(stores)
    async with application(stores, Bank()).running(), application(stores, Bank()).client() as client:
        await move(stores, FAILPOINTS[2])
        preview = await client.batches.preview("suspend", "workflow = 'fulfil'")
        with pytest.raises(StoreUnavailable, match="on its way"):
            await client.batches.start(preview)
        assert await client.batches.recent() == []


async def test_a_message_for_a_shard_on_its_way_waits_until_it_has_arrived(stores: list[str]) -> None:
    bank, second = Bank(), sorted(MOVED)[1]
    posted = next(ids("order", frozenset({second})))
    async with application(stores[:2], bank).client():
        await add(stores)
    async with application(stores, bank).running(), application(stores, bank).client() as client:
        await move(stores, FAILPOINTS[2])
        posting = asyncio.create_task(session_of(client).post("orders", None, posted))
        await asyncio.sleep(0.2)
        assert not posting.done()
        await move(stores)
        await posting
        await ended(client, posted)


async def test_a_message_of_a_shard_on_its_way_holds_up_none_of_another(stores: list[str]) -> None:
    """It was put in the store that its shard has left: a write that waits while a shard is copied ends there."""
    bank, away = Bank(), sorted(MOVED)[1]
    place = next(place for place, shards in enumerate(initial_shards(2)) if away in shards)
    moving, stays = next(ids("order", frozenset({away}))), next(ids("order", initial_shards(3)[place]))
    async with application(stores[:2], bank).client():
        await add(stores)
    app = application(stores, bank)
    async with app.running(), app.client() as client:
        await move(stores, FAILPOINTS[2])
        whole = session_of(client).store
        assert isinstance(whole, PartitionedStore)
        left: Any = whole.partitions.members[place].store.messages
        for id in (moving, stays):
            await put_message(left, "moving", "orders", id, id=id, at=whole.now(), limit=1000)
        await ended(client, stays)
        await move(stores)
        await ended(client, moving)
        assert await client.dead_letters() == []


async def test_a_process_without_the_new_store_posts_nothing_to_a_shard_that_has_left(
    stores: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stepward.store.partitions.partition_routing.ARRIVAL_SECONDS", 0.1)
    monkeypatch.setattr("stepward.store.partitions.messages.REFRESH_SECONDS", 0.0)
    async with application(stores[:2], Bank()).client() as client:
        await add(stores)
        async with application(stores, Bank()).running():
            await move(stores)
            with pytest.raises(TransportError, match="with every store of the application"):
                await session_of(client).post("orders", None, next(ids("order", MOVING)))


async def test_a_message_that_is_put_where_its_shard_was_is_passed_on(
    stores: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a process without the new store, which looks where shards are once in a while."""
    monkeypatch.setattr("stepward.store.partitions.messages.REFRESH_SECONDS", 600.0)
    bank, (looked, moving) = Bank(), islice(ids("order", MOVING), 2)
    async with application(stores[:2], bank).client() as old:
        await session_of(old).post("orders", None, looked)
        await add(stores)
        async with application(stores, bank).running(), application(stores, bank).client() as client:
            await move(stores)
            await session_of(old).post("orders", None, moving)
            await ended_or_buried(client, moving)
            assert await client.dead_letters() == []


async def test_a_step_that_moves_while_it_is_completed_is_completed_where_it_arrives(stores: list[str]) -> None:
    bank, moving = Bank(), next(ids("slow", MOVING))
    async with application(stores[:2], bank).client() as client:
        await add(stores)
    async with application(stores, bank).running(), application(stores, bank).client() as client:
        task = await client.submit("narrow", moving, id=moving)
        await until(lambda: asyncio.sleep(0, bank.at_work), lambda at_work: moving in at_work)
        store = session_of(client).store
        assert isinstance(store, PartitionedStore)
        first = store.partitions.placed(moving).store.client
        complete = first.complete

        async def late(completion: Completion) -> Refusal | None:
            await move(stores)
            return await complete(completion)

        first.complete = late  # type: ignore[method-assign]
        (step,) = await task.steps()
        completion = Completion(
            task=(await task.status()).uid, run=1, key=step.key, attempt=1, actor="test", output=b'"given"'
        )
        refused = await store.client.complete(completion)
        assert refused is None or refused.reason is not RefusalReason.GONE
        bank.opens.set()


async def test_a_task_that_was_noted_in_the_store_that_it_has_left_is_found(stores: list[str]) -> None:
    """It was read there before it moved, and the answer came late."""
    bank, key = Bank(), next(key for n in count() if shard_of_key(key := f"key-{n}") in MOVING)
    async with application(stores[:2], bank).client() as client:
        await add(stores)
    async with application(stores, bank).running(), application(stores, bank).client() as client:
        handle = await client.submit("fulfil", key, per_key=Singleton(key))
        whole = session_of(client).store
        assert isinstance(whole, PartitionedStore)
        read = await whole.partitions.members[0].store.client.task(handle.id)
        assert read is not None
        await move(stores)
        await whole.partitions.refresh()
        whole.partitions.note([read], whole.partitions.members[0])
        assert (await handle.status()).id == handle.id


async def test_a_dead_letter_moves_and_is_put_back_where_its_id_is_placed(stores: list[str]) -> None:
    bank, moving = Bank(), next(ids("order", MOVING))
    async with application(stores[:2], bank).client() as client:
        await session_of(client).post("orders", None, moving)
        queue, (message, *_) = "submissions.moving.orders", await _queued(client, "submissions.moving.orders")
        await session_of(client).store.messages.bury(queue, [(message.token, "looked at")])
        await add(stores)
    async with application(stores, bank).running(), application(stores, bank).client() as client:
        await move(stores)
        (letter,) = await client.dead_letters()
        assert letter.reason == "looked at"
        await client.put_back(letter.number)
        await ended_or_buried(client, moving)
        assert await client.dead_letters() == []


async def _queued(client: Client, queue: str) -> list[StoredMessage]:
    return await session_of(client).store.messages.read(queue, 0, 10)
