from __future__ import annotations

import asyncio

import pytest

from stepward.errors import IllegalTransition, TaskChanged
from stepward.model.records import Task
from stepward.model.states import TaskState
from stepward.model.tasks.task_version import task_version
from stepward.payload import readable
from stepward.store.contract import Directive, Store
from tests.store.conformance.world import World, read


async def version(store: Store, task: Task) -> str:
    (tally,) = await store.client.tallies([task.uid], [])
    return task_version(await read(store, task), tally.steps, tally.done)


def directive(verb: str, *expected: str, actor: str = "ada") -> Directive:
    return Directive(verb=verb, actor=actor, expected=expected, reason="the service is back")


async def test_a_directive_on_a_task_that_has_changed_changes_nothing(world: World, store: Store) -> None:
    task = world.task("order-1")
    await store.client.submit([task])
    shown = await version(store, task)
    await store.client.direct(task.id, Directive(verb="suspend", actor="bob"))
    with pytest.raises(
        TaskChanged, match="task order-1: expected it unchanged since it was shown, found it suspended"
    ) as refused:
        await store.client.direct(task.id, directive("undo", shown))
    assert refused.value.version == await version(store, task)
    assert (await read(store, task)).state is TaskState.SUSPENDED
    assert [act.actor for act in await store.operators.audits(task.id, 10)] == ["bob"]


async def test_a_directive_on_a_task_of_an_expected_version_gives_its_reason_to_the_audit(
    world: World, store: Store
) -> None:
    task = world.task("order-1")
    await store.client.submit([task])
    shown = await version(store, task)
    assert await store.client.direct(task.id, directive("suspend", "another", shown)) is TaskState.SUSPENDED
    (act,) = await store.operators.audits(task.id, 10)
    assert readable(act.details) == {"reason": "the service is back"}


async def test_a_signal_to_a_task_that_has_changed_is_not_delivered(world: World, store: Store) -> None:
    task = world.task("order-1")
    await store.client.submit([task])
    shown = await version(store, task)
    await store.client.direct(task.id, Directive(verb="suspend", actor="bob"))
    with pytest.raises(TaskChanged):
        await store.client.signal(task.id, "approved", b"1", "one", "ada", expected=[shown])
    assert (await read(store, task)).inbox == 0
    now = await version(store, task)
    assert await store.client.signal(task.id, "approved", b"1", "one", "ada", expected=[now], reason="paid")
    (act, _) = await store.operators.audits(task.id, 10)
    assert readable(act.details) == {"signal": "approved", "id": "one", "reason": "paid"}


async def test_of_concurrent_directives_on_one_version_one_is_carried_out(world: World, store: Store) -> None:
    other = await world.open()
    for number in range(10):
        task = world.task(f"order-{number}")
        await store.client.submit([task])
        shown = await version(store, task)
        acts = [
            each.client.direct(task.id, directive(verb, shown, actor=f"{verb}-{place}"))
            for place, each in enumerate((store, other))
            for verb in ("suspend", "undo", "cancel")
        ]
        ended = await asyncio.gather(*acts, return_exceptions=True)
        refused = [each for each in ended if isinstance(each, TaskChanged | IllegalTransition)]
        (done,) = [each for each in ended if isinstance(each, TaskState)]
        assert len(refused) == len(acts) - 1, ended
        assert all(isinstance(each, TaskChanged) for each in refused)
        (act,) = await store.operators.audits(task.id, 10)
        assert (await read(store, task)).state is done and act.after == done
