"""What keeps labels and attributes findable: triggers, on each store."""

from __future__ import annotations

from stepward.model.states import TaskState
from stepward.model.tasks.attributes import encoded
from stepward.store.contract import Change, Store, TaskSearch
from stepward.store.search.parser import parsed
from tests.store.conformance.world import World, claimed, end, read, scheduler


async def found(store: Store, where: str) -> list[str]:
    page = await store.operators.tasks(TaskSearch(condition=parsed(where, store.now())))
    return [task.id for task in page.tasks]


async def test_attributes_that_a_turn_sets_replace_those_before_and_leave_labels(world: World) -> None:
    store = await world.open()
    await scheduler(store)
    task = await claimed(world, store, id="t", labels=b'{"city":"Ulm"}', attributes=encoded({"a": 1, "b": "x"}))
    other = await claimed(world, store, id="o", attributes=encoded({"a": 1}))
    changes = [
        Change(task=task.uid, attributes=encoded({"a": 2, "c": True})),
        Change(task=other.uid, complete_by=world.clock.wall() + 60),
    ]
    assert (await store.scheduler.commit("s1", changes, None)).missed == {}
    assert await found(store, "attr.a = 2 and attr.c = true and label.city = 'Ulm'") == ["t"]
    assert await found(store, "attr.b is not null") == []
    assert await found(store, "attr.a = 1") == ["o"]
    assert (await read(store, task)).attributes == b'{"a":2,"c":true}'


async def test_attributes_may_be_set_in_the_turn_that_begins_or_ends_a_task(world: World) -> None:
    store = await world.open()
    await scheduler(store)
    born = world.born("s1", id="b", attributes=encoded({"a": 1}))
    commit = await store.scheduler.commit("s1", [Change(task=born.uid, born=born, attributes=encoded({"a": 2}))], None)
    assert commit.missed == {}
    assert await found(store, "attr.a = 2 and state = 'processing'") == ["b"]
    await end(store, born, TaskState.PROCESSED)
    assert await found(store, "attr.a = 2 and state = 'processed'") == ["b"]
    assert await found(store, "attr.a = 1") == []


async def test_what_a_deleted_task_was_found_by_goes_with_it(world: World) -> None:
    store = await world.open()
    await scheduler(store)
    task = await claimed(world, store, labels=b'{"city":"Ulm"}', attributes=encoded({"a": 1}))
    await end(store, task, TaskState.PROCESSED)
    batch = await store.operators.outlived(world.clock.wall() + 1e9, 10)
    await store.operators.purge_ended(batch, world.clock.wall(), "ada")
    again = world.task(task.id)
    await store.client.submit([again])
    assert await found(store, "label.city = 'Ulm' or attr.a = 1") == []
    assert await found(store, f"id = '{task.id}'") == [task.id]


async def test_labels_that_cannot_be_read_hide_only_their_own_task(world: World) -> None:
    store = await world.open()
    await store.client.submit(
        [
            world.task("broken", labels=b"no json"),
            world.task("nul", labels=b'{"city":"a\\u0000b","x":"1"}'),
            world.task("odd", labels=b'{"city":["Ulm"],"x":null}'),
            world.task("good", labels=b'{"city":"Ulm"}'),
        ]
    )
    assert await found(store, "label.city = 'Ulm'") == ["good"]
    assert len(await found(store, "")) == 4
