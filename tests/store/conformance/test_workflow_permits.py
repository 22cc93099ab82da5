"""Permits under the limit of a workflow: taken with the claim, passed on by whatever ends a task."""

from __future__ import annotations

import pytest

from stepward.model.limits.flow_limit import WAITS_FOR, FlowLimit, SetLimit
from stepward.model.records import Task
from stepward.model.states import TaskState
from stepward.store.contract import Directive, Store
from tests.store.conformance.world import SERVED, World, end, ids, read, scheduler

ORDERS = "workflow:order"


@pytest.fixture
async def limited(store: Store) -> Store:
    """A store with a limit of two tasks of the workflow ``order``."""
    await store.host.declare_limits([FlowLimit(name=ORDERS, declared_concurrency=2)], [])
    return store


@pytest.fixture
async def keyed(store: Store) -> Store:
    """A store with a limit of one task for each key."""
    await store.host.declare_limits([FlowLimit(name=ORDERS, per_key=True, declared_concurrency=1)], [])
    return store


async def submitted(world: World, store: Store, *names: str, **fields: object) -> dict[str, Task]:
    tasks = {name: world.task(name, **fields) for name in names}
    await store.client.submit(list(tasks.values()))
    return tasks


async def claimed(world: World, store: Store, instance: str = "s1") -> list[str]:
    world.clock.advance(0.01)
    return ids(await store.scheduler.claim(instance, SERVED, 10))


async def ended(world: World, store: Store, task: Task, instance: str = "s1") -> None:
    world.clock.advance(1)
    await end(store, await read(store, task), TaskState.PROCESSED, instance, at=store.now())


async def counts(store: Store) -> tuple[int, int]:
    found = await store.operators.permits()
    return found.get((ORDERS, True), 0), found.get((ORDERS, False), 0)


async def test_no_more_tasks_are_claimed_than_the_limit_and_the_others_wait(world: World, limited: Store) -> None:
    tasks = await submitted(world, limited, "a", "b", "c", "d")
    assert await claimed(world, limited) == ["a", "b"]
    assert await counts(limited) == (2, 2)
    waiting = await read(limited, tasks["c"])
    assert (waiting.state, waiting.waits_for, waiting.locked_by) == (TaskState.WAITING, WAITS_FOR, None)
    assert (waiting.started_at, waiting.complete_by, waiting.wake_at) == (None, None, None)
    assert await claimed(world, limited) == []


async def test_a_task_that_ends_passes_its_permit_to_the_next_one(world: World, limited: Store) -> None:
    tasks = await submitted(world, limited, "a", "b", "c")
    urgent = await submitted(world, limited, "e", priority=9)
    assert await claimed(world, limited) == ["e", "a"]
    await ended(world, limited, tasks["a"])
    assert await claimed(world, limited) == ["b"]
    await ended(world, limited, urgent["e"])
    assert await counts(limited) == (2, 0)
    late = await submitted(world, limited, "f")
    assert await claimed(world, limited) == ["c"]
    await ended(world, limited, tasks["b"])
    await ended(world, limited, tasks["c"])
    assert await claimed(world, limited) == ["f"]
    await ended(world, limited, late["f"])
    assert await counts(limited) == (0, 0)


async def test_each_key_has_the_limit_for_itself(world: World, keyed: Store) -> None:
    first = await submitted(world, keyed, "a1", "a2", fairness_key="a")
    await submitted(world, keyed, "b1", "b2", fairness_key="b")
    await submitted(world, keyed, "n1", "n2")
    assert set(await claimed(world, keyed)) == {"a1", "b1", "n1"}
    assert await counts(keyed) == (3, 3)
    await ended(world, keyed, first["a1"])
    assert await claimed(world, keyed) == ["a2"]


async def test_a_permit_stays_with_its_task_when_the_owner_changes(world: World, limited: Store) -> None:
    tasks = await submitted(world, limited, "a", "b", "c")
    await claimed(world, limited)
    await scheduler(limited, "s2")
    await limited.host.retire("s1")
    assert await claimed(world, limited, "s2") == ["a", "b"]
    await ended(world, limited, tasks["a"], "s2")
    assert await claimed(world, limited, "s2") == ["c"]


async def test_a_waiting_task_that_is_cancelled_delays_no_other(world: World, limited: Store) -> None:
    tasks = await submitted(world, limited, "a", "b", "c", "d")
    await claimed(world, limited)
    await limited.client.direct("c", Directive(verb="cancel", actor="ada"))
    await ended(world, limited, tasks["a"])
    assert await claimed(world, limited) == ["c", "d"]
    undoing = await read(limited, tasks["c"])
    assert undoing.state is TaskState.UNDOING
    await end(limited, undoing, TaskState.CANCELLED, at=limited.now(), undo_to="cancelled")
    assert await counts(limited) == (2, 0)


async def test_a_suspended_task_is_passed_over_and_asks_again_when_resumed(world: World, limited: Store) -> None:
    tasks = await submitted(world, limited, "a", "b", "c", "d")
    await claimed(world, limited)
    await limited.client.direct("c", Directive(verb="suspend", actor="ada"))
    await ended(world, limited, tasks["a"])
    assert await claimed(world, limited) == ["d"]
    await limited.client.direct("c", Directive(verb="resume", actor="ada"))
    assert await claimed(world, limited) == []
    await ended(world, limited, tasks["b"])
    assert await claimed(world, limited) == ["c"]


async def test_a_signal_starts_no_task_that_waits_for_a_permit(world: World, limited: Store) -> None:
    tasks = await submitted(world, limited, "a", "b", "c")
    await claimed(world, limited)
    await limited.client.signal("c", "go", b"1", None)
    assert await claimed(world, limited) == []
    await ended(world, limited, tasks["a"])
    assert await claimed(world, limited) == ["c"]


async def test_a_limit_that_is_raised_or_removed_lets_waiting_tasks_go(world: World, limited: Store) -> None:
    await submitted(world, limited, *"abcdef")
    await claimed(world, limited)
    await limited.operators.set_limit(ORDERS, SetLimit(concurrency=3), "ada")
    assert await claimed(world, limited) == ["c"]
    await limited.operators.set_limit(ORDERS, SetLimit(concurrency=None), "ada")
    assert await claimed(world, limited) == ["d", "e", "f"]


async def test_a_limit_that_is_lowered_lets_none_follow_until_it_fits(world: World, limited: Store) -> None:
    tasks = await submitted(world, limited, *"abcd")
    await claimed(world, limited)
    await limited.operators.set_limit(ORDERS, SetLimit(concurrency=1), "ada")
    await ended(world, limited, tasks["a"])
    assert await claimed(world, limited) == []
    await ended(world, limited, tasks["b"])
    assert await claimed(world, limited) == ["c"]


async def test_other_workflows_are_not_bounded(world: World, limited: Store) -> None:
    await limited.operators.set_limit("workflow:other", SetLimit(concurrency=1), "ada")
    await limited.operators.reset_limit("workflow:other", "ada")
    others = [world.task(name, workflow="other") for name in ("a", "b", "c")]
    await limited.client.submit(others)
    assert len(await limited.scheduler.claim("s1", [("other", "1")], 10)) == 3
    assert await limited.operators.permits() == {}
