from __future__ import annotations

import asyncio
from typing import Any

import pytest

from stepward.errors import Refused
from stepward.model.states import TaskState
from stepward.store.contract import Store, Submitted, TaskSearch
from tests.store.conformance.world import DONE, World, claimed, end, read
from tests.store.listing import listed


async def test_a_submitted_task_reads_back_as_it_was_given(world: World, store: Store) -> None:
    task = world.task(
        "a",
        input=b"[1]",
        labels=b'{"city":"Ulm"}',
        priority=9,
        fairness_key="k",
        complete_by=world.clock.wall() + 5,
        parent="p",
        parent_run=2,
        parent_step="pay/1",
        reply_to="replies.shop.x",
    )
    assert await store.client.submit([task]) == [Submitted(task.uid, "a", created=True, same=True)]
    assert await store.client.task("a") == task
    assert await store.client.task("b") is None


async def test_an_id_that_exists_starts_nothing(world: World, store: Store) -> None:
    first = world.task("a", input=b"[1]")
    await store.client.submit([first])
    again, other_input = world.task("a", input=b"[1]"), world.task("a", input=b"[2]")
    other_workflow = world.task("a", input=b"[1]", workflow="refund")
    assert await store.client.submit([again, other_input, other_workflow]) == [
        Submitted(first.uid, "a", created=False, same=True),
        Submitted(first.uid, "a", created=False, same=False),
        Submitted(first.uid, "a", created=False, same=False),
    ]
    assert await store.client.task("a") == first


async def test_within_one_call_the_first_of_an_id_wins(world: World, store: Store) -> None:
    first, second, other = world.task("a"), world.task("a", input=b"[2]"), world.task("b")
    answers = await store.client.submit([first, second, other])
    assert [(answer.created, answer.same) for answer in answers] == [(True, True), (False, False), (True, True)]
    assert {task.id for task in await listed(store)} == {"a", "b"}


async def test_one_task_refused_for_its_data_leaves_none_behind(world: World, store: Store) -> None:
    with pytest.raises(Refused, match="expected data that its tables allow"):
        await store.client.submit([world.task("a"), world.task("b", run=0)])
    assert await listed(store) == []


async def test_the_listing_is_newest_first_pages_and_leaves_payloads_out(world: World, store: Store) -> None:
    tasks = [world.task(f"t{number}", input=b"[1]") for number in range(5)]
    await store.client.submit(tasks)
    page = await store.operators.tasks(TaskSearch(limit=2))
    assert [task.id for task in page.tasks] == ["t4", "t3"]
    assert [task.input for task in page.tasks] == [b"[]", b"[]"]
    rest = await store.operators.tasks(TaskSearch(after=page.after))
    assert ([task.id for task in rest.tasks], rest.after) == (["t2", "t1", "t0"], None)


async def test_the_listing_is_by_workflow_label_and_state(world: World, store: Store) -> None:
    await store.client.submit(
        [
            world.task("a", labels=b'{"city":"Ulm"}'),
            world.task("b", workflow="refund", labels=b'{"city":"Bonn"}'),
        ]
    )
    held = await claimed(world, store, priority=9)

    async def found(**by: Any) -> set[str]:
        return {task.id for task in await listed(store, **by)}

    assert await found(workflow="refund") == {"b"}
    assert await found(label=("city", "Ulm")) == {"a"}
    assert await found(state=TaskState.PENDING) == {"a", "b"}
    assert await found(state=TaskState.PROCESSING) == {held.id}
    assert await found(state=TaskState.ERROR) == set()


async def test_ended_tells_only_of_ends(world: World, store: Store) -> None:
    done, open_task = await claimed(world, store), await claimed(world, store)
    await end(store, done, TaskState.PROCESSED, output=DONE)
    assert await store.client.ended([done.uid, open_task.uid, "none"]) == [await read(store, done)]


async def test_submissions_at_one_time_have_an_outcome_each(world: World, store: Store) -> None:
    first = world.task("a", input=b"[1]")
    await store.client.submit([first])
    tasks = [
        *(world.task(f"n{number}") for number in range(20)),
        world.task("a", input=b"[1]"),
        world.task("a", input=b"[2]"),
        world.task("twice"),
        world.task("twice"),
    ]
    found = [answer for (answer,) in await asyncio.gather(*(store.client.submit([task]) for task in tasks))]
    assert [(answer.uid, answer.created) for answer in found[:20]] == [(task.uid, True) for task in tasks[:20]]
    assert found[20:22] == [
        Submitted(first.uid, "a", created=False, same=True),
        Submitted(first.uid, "a", created=False, same=False),
    ]
    assert sorted(answer.created for answer in found[22:]) == [False, True]
    assert found[22].uid == found[23].uid
    assert len(await listed(store)) == 22
