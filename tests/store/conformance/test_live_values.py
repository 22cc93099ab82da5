"""Values that tasks write for readers outside: committed with the turn or the step's outcome, in order, once."""

from __future__ import annotations

import asyncio

import pytest

from stepward.model.live_values import WriteBuffer, WriteKind, WrittenValue
from stepward.model.messages.requests import Outcome, Reply
from stepward.model.records import Step, Task
from stepward.model.states import StepKind, TaskState
from stepward.store.contract import Change, Store
from stepward.store.contract.by_subject.live_values import STREAM_ROWS
from tests.store.conformance.world import DONE, World, add_steps, claimed, end, finish, move, step
from tests.store.listing import listed


def change(task: Task, *written: tuple[WriteKind, str, bytes], at: float = 5.0) -> Change:
    made = Change(task=task.uid)
    for kind, name, value in written:
        made.write(WrittenValue(kind, name, value), at)
    return made


def buffer(*written: tuple[WriteKind, str, bytes]) -> bytes:
    made = WriteBuffer()
    for kind, name, value in written:
        made.write(WrittenValue(kind, name, value), "think")
    encoded = made.encoded()
    assert encoded is not None
    return encoded


async def read(store: Store, task: Task, name: str, start: int = 0) -> list[tuple[int, bytes]]:
    return [(found.position, found.value) for found in await store.client.stream_values(task.uid, name, start)]


STREAM, PUBLISH = WriteKind.STREAM, WriteKind.PUBLISH


async def test_values_are_read_in_the_order_of_their_commits(world: World, store: Store) -> None:
    task, other = await claimed(world, store), await claimed(world, store)
    first = change(task, (STREAM, "tokens", b"1"), (STREAM, "log", b'"a"'), (STREAM, "tokens", b"2"))
    await store.scheduler.commit("s1", [first, change(other, (STREAM, "tokens", b"9"))], None)
    await store.scheduler.commit("s1", [change(task, (STREAM, "tokens", b"3"))], None)
    assert await read(store, task, "tokens") == [(0, b"1"), (1, b"2"), (2, b"3")]
    assert await read(store, task, "tokens", 2) == [(2, b"3")]
    assert await read(store, task, "tokens", 3) == []
    assert await store.client.streams(task.uid) == {"log": 1, "tokens": 3}
    assert await store.client.streams(other.uid) == {"tokens": 1}


async def test_the_value_published_last_counts(world: World, store: Store) -> None:
    task = await claimed(world, store)
    await store.scheduler.commit("s1", [change(task, (PUBLISH, "done", b"1"), (PUBLISH, "done", b"2"))], None)
    await store.scheduler.commit("s1", [change(task, (PUBLISH, "done", b"3"), (PUBLISH, "of", b"9"), at=7.0)], None)
    found = await store.client.live_value(task.uid, "done")
    assert found is not None
    assert (found.name, found.value, found.at) == ("done", b"3", 7.0)
    assert [each.name for each in await store.client.live_values(task.uid)] == ["done", "of"]
    assert await store.client.live_value(task.uid, "none") is None


async def test_a_change_that_misses_writes_nothing(world: World, store: Store) -> None:
    task, other = await claimed(world, store), await claimed(world, store)
    missing = change(task, (STREAM, "tokens", b"1"), (PUBLISH, "done", b"1"))
    missing.finishes.append(finish(step(task)))
    committed = await store.scheduler.commit("s1", [missing, change(other, (STREAM, "tokens", b"2"))], None)
    assert list(committed.missed) == [task.uid]
    assert await read(store, task, "tokens") == []
    assert await store.client.live_value(task.uid, "done") is None
    assert await read(store, other, "tokens") == [(0, b"2")]


async def test_only_the_owner_of_a_task_writes(world: World, store: Store) -> None:
    task = await claimed(world, store)
    await end(store, task, TaskState.PROCESSED, at=store.now())
    committed = await store.scheduler.commit("s1", [change(task, (STREAM, "tokens", b"1"))], None)
    assert list(committed.missed) == [task.uid]


async def test_values_of_a_transactional_step_commit_with_its_outcome(world: World, store: Store) -> None:
    task = await claimed(world, store)
    booked = step(task, "book/1", kind=StepKind.TRANSACTION)
    await add_steps(store, task, booked)
    written = buffer((STREAM, "log", b"1"), (PUBLISH, "done", b"2"))
    with pytest.raises(KeyError):
        async with store.client.transaction() as transaction:
            assert await transaction.finish("s1", finish(booked), written)
            raise KeyError
    assert await read(store, task, "log") == []
    async with store.client.transaction() as transaction:
        assert await transaction.finish("s1", finish(booked), written)
    async with store.client.transaction() as transaction:
        assert not await transaction.finish("s1", finish(booked), written)
    assert await read(store, task, "log") == [(0, b"1")]


async def test_a_turn_and_a_transactional_step_append_to_one_stream_without_a_gap(world: World, store: Store) -> None:
    task = await claimed(world, store)
    steps = [step(task, f"book/{number}", number, kind=StepKind.TRANSACTION) for number in range(1, 6)]
    await add_steps(store, task, *steps)

    async def book(booked: Step) -> None:
        async with store.client.transaction() as transaction:
            await transaction.finish("s1", finish(booked), buffer((STREAM, "log", b"1"), (STREAM, "log", b"2")))

    turns = [store.scheduler.commit("s1", [change(task, (STREAM, "log", b"3"))], None) for _ in range(5)]
    await asyncio.gather(*map(book, steps), *turns)
    found = await read(store, task, "log")
    assert [position for position, _ in found] == list(range(15))
    values = b"".join(value for _, value in found)
    assert (values.count(b"12"), values.count(b"3")) == (5, 5)


async def test_a_reply_that_reaches_no_owner_writes_its_values_once(world: World, store: Store) -> None:
    task = await claimed(world, store)
    thought = step(task, "think/1")
    await add_steps(store, task, thought)
    let_go = move(task, TaskState.WAITING, release=True)
    await store.scheduler.commit("s1", [Change(task=task.uid, move=let_go)], None)
    reply = Reply(
        task=task.uid,
        run=1,
        key="think/1",
        attempt=1,
        outcome=Outcome.COMPLETED,
        output=DONE,
        written=buffer((STREAM, "tokens", b"1")),
    )
    await store.scheduler.settle_misrouted([reply])
    await store.scheduler.settle_misrouted([reply])
    assert await read(store, task, "tokens") == [(0, b"1")]


async def test_a_page_is_bounded(world: World, store: Store) -> None:
    task = await claimed(world, store)
    many = [(STREAM, "tokens", b"%d" % number) for number in range(STREAM_ROWS + 5)]
    await store.scheduler.commit("s1", [change(task, *many)], None)
    assert len(await read(store, task, "tokens")) == STREAM_ROWS
    large = b'"' + b"x" * 400_000 + b'"'
    await store.scheduler.commit("s1", [change(task, *[(STREAM, "large", large)] * 5)], None)
    assert [position for position, _ in await read(store, task, "large")] == [0, 1, 2]


async def test_values_are_read_for_the_archive_and_deleted_with_their_task(world: World, store: Store) -> None:
    task = await claimed(world, store)
    made = change(task, (STREAM, "tokens", b"1"), (STREAM, "tokens", b"2"), (PUBLISH, "done", b"3"))
    await store.scheduler.commit("s1", [made], None)
    await end(store, task, TaskState.PROCESSED, at=store.now())
    world.clock.advance(50)
    uids = [task.uid]
    streams = await store.supervisor.outlived_streams(uids, ("", "", -1))
    assert [(row.position, row.value) for row in streams] == [(0, b"1"), (1, b"2")]
    assert await store.supervisor.outlived_streams(uids, (task.uid, "tokens", 0)) == streams[1:]
    assert [row.value for row in await store.supervisor.outlived_values(uids, ("", ""))] == [b"3"]
    batch = await store.operators.outlived(store.now(), 9)
    assert (await store.operators.purge_ended(batch, store.now(), "ada")).tasks == 1
    assert (await listed(store, limit=9), await read(store, task, "tokens")) == ([], [])
    assert await store.client.live_values(task.uid) == []
