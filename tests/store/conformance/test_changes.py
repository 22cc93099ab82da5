from __future__ import annotations

import pytest

from stepward.model.records import Alert
from stepward.model.states import TaskState
from stepward.store.contract import Change, ChangedTasks, ChangesPlace, Directive, Store
from stepward.store.verbs import changed_tasks
from tests.store.conformance.world import World, claimed, end


async def start(world: World, store: Store) -> ChangesPlace:
    """The place of now, so long after all before it that none of it is read again."""
    world.clock.advance(60.0)
    return (await store.operators.changes(None)).place


def ids(found: ChangedTasks) -> set[tuple[str, str]]:
    return {(task.id, task.state.value) for task in found.tasks}


async def test_no_change_is_found_after_the_position_of_now(world: World, store: Store) -> None:
    await store.client.submit([world.task("old")])
    assert (await store.operators.changes(None)).tasks == []
    place = await start(world, store)
    found = await store.operators.changes(place)
    assert found.tasks == [] and not found.is_cut
    assert found.place.at >= place.at


async def test_submitted_and_ended_tasks_are_found_without_payloads(world: World, store: Store) -> None:
    task = await claimed(world, store)
    place = await start(world, store)
    await store.client.submit([world.task("new")])
    await end(store, task, TaskState.PROCESSED, at=store.now(), inbox=0)
    found = await store.operators.changes(place)
    assert ids(found) == {("new", "pending"), (task.id, "processed")}
    assert {(each.input, each.output) for each in found.tasks} == {(b"[]", None)}


async def test_tasks_that_were_acted_upon_or_raised_an_alert_are_found(world: World, store: Store) -> None:
    await store.client.submit([world.task("stops"), world.task("fails"), world.task("rests")])
    failing = await store.client.task("fails")
    assert failing is not None
    place = await start(world, store)
    await store.client.direct("stops", Directive(verb="suspend", actor="ada"))
    alert = Alert(kind="task_error", message="one", task=failing.uid)
    await store.scheduler.commit("s1", [Change(task="x", alerts=[alert])], None)
    assert ids(await store.operators.changes(place)) == {("stops", "suspended"), ("fails", "pending")}


async def test_a_task_that_was_committed_late_is_still_found(world: World, store: Store) -> None:
    late = world.task("late")
    place = await start(world, store)
    late.created_at = place.at - changed_tasks.LATE_SECONDS + 1.0
    await store.client.submit([late])
    assert ids(await store.operators.changes(place)) == {("late", "pending")}


async def test_tasks_requested_by_their_uids_are_found_too(world: World, store: Store) -> None:
    (old,) = await store.client.submit([world.task("old")])
    place = await start(world, store)
    assert ids(await store.operators.changes(place, [old.uid, "none-such"])) == {("old", "pending")}


async def test_a_reading_is_bounded_and_says_that_it_was_cut(
    world: World, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changed_tasks, "MOST_CHANGES", 2)
    place = await start(world, store)
    await store.client.submit([world.task(f"new-{number}") for number in range(4)])
    found = await store.operators.changes(place)
    assert found.is_cut and len(found.tasks) == 3
    assert found.place.at >= place.at
