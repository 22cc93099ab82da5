"""What signals and completions at one time cost the server, and what each of them is answered."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable
from typing import Any

import pytest

from stepward.errors import IllegalTransition, TaskChanged, TaskNotFound
from stepward.model.records import Task
from stepward.model.states import TaskState
from stepward.model.tasks.task_version import task_version
from stepward.store.contract import Directive
from stepward.store.postgres import PostgresStore
from tests.store.conformance.test_completion import completion, waiting
from tests.store.conformance.world import World, claimed, end, read, scheduler
from tests.store.postgres.worlds import Database, SchemaPlace

pytestmark = pytest.mark.servers

CALLERS = 40
FIRST = 1
"""The first call is written at once, and the others together after it."""


@pytest.fixture
async def world(database: Database) -> World:
    return World(SchemaPlace(database.address))


@pytest.fixture
async def store(world: World) -> AsyncIterator[PostgresStore]:
    store = world.place.make(world.environment)
    assert isinstance(store, PostgresStore)
    await store.open()
    await scheduler(store, "s1")
    yield store
    await store.close()


async def statements(store: PostgresStore, *calls: Awaitable[Any]) -> tuple[int, list[Any]]:
    """How many statements calls at one time cost, and what they returned or raised."""
    before = store.statements
    found = await asyncio.gather(*calls, return_exceptions=True)
    return store.statements - before, found


def version(task: Task) -> str:
    return task_version(task, 0, 0)


async def test_signals_with_versions_share_two_commits_and_a_refused_one_leaves_the_others_together(
    world: World, store: PostgresStore
) -> None:
    tasks = [await claimed(world, store) for _ in range(CALLERS)]
    over = await claimed(world, store)
    await end(store, over, TaskState.PROCESSED)
    over = await read(store, over)
    signal = store.client.signal

    cost, found = await statements(
        store,
        *(signal(task.id, "paid", b"1", f"x{task.id}", expected=[version(task)]) for task in tasks),
        signal(tasks[1].id, "paid", b"1", None, expected=["another"]),
        signal(over.id, "paid", b"1", "y", expected=[version(over)]),
        signal("nobody", "paid", b"1", None),
        signal(tasks[2].id, "paid", b"1", f"x{tasks[2].id}"),
        signal(tasks[2].id, "paid", b"1", None, expected=[version(tasks[2])]),
    )

    assert found[:CALLERS] == [True] * CALLERS
    assert [type(each) for each in found[CALLERS : CALLERS + 3]] == [TaskChanged, IllegalTransition, TaskNotFound]
    assert found[CALLERS + 3 :] == [False, True]
    # Begin, tasks, tallies, id, inbox, count, commit; of the group also the ids at tasks that have ended.
    assert cost == 7 + 8
    assert [(await read(store, task)).inbox for task in tasks[:4]] == [1, 1, 2, 1]


async def test_the_id_of_a_signal_that_was_refused_in_a_group_is_not_recorded(
    world: World, store: PostgresStore
) -> None:
    tasks = [await claimed(world, store) for _ in range(3)]
    signal = store.client.signal
    _, found = await statements(
        store,
        signal(tasks[0].id, "paid", b"1", None),
        signal(tasks[1].id, "paid", b"1", "x", expected=["another"]),
        signal(tasks[2].id, "paid", b"1", "x", expected=[version(tasks[2])]),
    )
    assert [type(each) for each in found] == [bool, TaskChanged, bool]
    assert await signal(tasks[1].id, "paid", b"1", "x", expected=[version(tasks[1])])
    assert not await signal(tasks[2].id, "paid", b"1", "x")


async def test_a_signal_that_was_seen_before_its_task_ended_is_answered_so_within_a_group(
    world: World, store: PostgresStore
) -> None:
    task, over = await claimed(world, store), world.task()
    await store.client.submit([over])
    signal = store.client.signal
    assert await signal(over.id, "paid", b"1", "x")
    await store.client.direct(over.id, Directive(verb="cancel", actor="ada"))
    _, found = await statements(
        store,
        signal(task.id, "paid", b"1", None),
        signal(over.id, "paid", b"1", "x"),
        signal(over.id, "paid", b"1", "new"),
        signal(task.id, "paid", b"1", None),
    )
    assert [found[0], found[1], type(found[2]), found[3]] == [True, False, IllegalTransition, True]


async def test_completions_at_one_time_share_reads_of_their_steps_and_two_commits(
    world: World, store: PostgresStore
) -> None:
    tasks = [await waiting(world, store) for _ in range(CALLERS)]
    cost, steps = await statements(store, *(store.client.completed_step(task.uid, 1, "charge/1") for task in tasks))
    assert [step.task for step in steps] == [task.uid for task in tasks]
    assert cost == FIRST + 1
    assert await asyncio.gather(*(store.client.completed_step("nobody", 1, "charge/1") for _ in range(3))) == [None] * 3

    calls = [completion(task) for task in tasks]
    cost, found = await statements(store, *map(store.client.complete, calls), store.client.complete(calls[3]))
    assert found[:CALLERS] == [None] * CALLERS
    assert found[CALLERS] is not None
    many = cost
    fewer = [await waiting(world, store) for _ in range(10)]
    calls = [completion(task) for task in fewer]
    few, _ = await statements(store, *map(store.client.complete, calls), store.client.complete(calls[3]))
    assert many == few
