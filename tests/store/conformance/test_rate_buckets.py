"""Rates of workflows: a token is taken with the claim that starts a task, whatever dies."""

from __future__ import annotations

import pytest

from stepward.model.limits.flow_limit import FlowLimit, SetLimit
from stepward.model.limits.rate import RateLimit
from stepward.model.records import Task
from stepward.model.states import TaskState
from stepward.store.contract import Directive, Store
from tests.store.conformance.world import SERVED, World, end, ids, read, scheduler

ORDERS = "workflow:order"


def rate(starts: int, seconds: float, *, per_key: bool = False, concurrency: int | None = None) -> FlowLimit:
    return FlowLimit(
        name=ORDERS,
        per_key=per_key,
        declared_concurrency=concurrency,
        declared_starts=starts,
        declared_seconds=seconds,
    )


@pytest.fixture
async def rated(store: Store) -> Store:
    """A store in which two tasks of the workflow ``order`` start at once, and then one each 5 s."""
    await store.host.declare_limits([rate(2, 10)], [])
    return store


async def submitted(world: World, store: Store, *names: str, **fields: object) -> dict[str, Task]:
    tasks = {name: world.task(name, **fields) for name in names}
    await store.client.submit(list(tasks.values()))
    return tasks


async def claimed(world: World, store: Store, after: float = 0.01, instance: str = "s1") -> list[str]:
    world.clock.advance(after)
    return ids(await store.scheduler.claim(instance, SERVED, 10))


async def waits(store: Store) -> float:
    """Seconds until the next waiting task may start."""
    start = await store.scheduler.next_start()
    assert start is not None
    return start - store.now()


async def test_as_many_start_at_once_as_the_rate_and_the_others_in_its_time(world: World, rated: Store) -> None:
    await submitted(world, rated, *"abcde")
    assert await claimed(world, rated) == ["a", "b"]
    assert await waits(rated) == pytest.approx(5, abs=0.1)
    assert await rated.scheduler.next_wake() == await rated.scheduler.next_start()
    assert await claimed(world, rated, 4.9) == []
    assert await claimed(world, rated, 0.2) == ["c"]
    assert await claimed(world, rated, 5) == ["d"]
    assert await claimed(world, rated, 60) == ["e"]
    assert await rated.scheduler.next_start() is None


async def test_tokens_are_gathered_up_to_the_rate_and_no_further(world: World, rated: Store) -> None:
    await submitted(world, rated, *"abc")
    await claimed(world, rated)
    world.clock.advance(1000)
    assert await claimed(world, rated) == ["c"]
    await submitted(world, rated, *"defg")
    assert await claimed(world, rated) == ["d"]
    assert await claimed(world, rated, 5) == ["e"]


async def test_the_most_urgent_task_goes_next_though_it_came_last(world: World, rated: Store) -> None:
    await submitted(world, rated, *"abcd")
    await claimed(world, rated)
    await submitted(world, rated, "urgent", priority=9)
    assert await claimed(world, rated) == []
    assert await claimed(world, rated, 5) == ["urgent"]
    assert await claimed(world, rated, 5) == ["c"]


async def test_each_key_has_the_rate_for_itself(world: World, store: Store) -> None:
    await store.host.declare_limits([rate(1, 10, per_key=True)], [])
    await submitted(world, store, "a1", "a2", fairness_key="a")
    await submitted(world, store, "b1", "b2", fairness_key="b")
    await submitted(world, store, "n1", "n2")
    assert set(await claimed(world, store)) == {"a1", "b1", "n1"}
    assert set(await claimed(world, store, 10.1)) == {"a2", "b2", "n2"}


async def test_a_task_that_was_started_takes_no_second_token_from_a_new_owner(world: World, rated: Store) -> None:
    await submitted(world, rated, *"abcd")
    await claimed(world, rated)
    await scheduler(rated, "s2")
    await rated.host.retire("s1")
    assert await claimed(world, rated, 0.01, "s2") == ["a", "b"]
    assert await claimed(world, rated, 5, "s2") == ["c"]


async def test_with_a_cap_a_start_needs_both(world: World, store: Store) -> None:
    await store.host.declare_limits([rate(2, 10, concurrency=2)], [])
    tasks = await submitted(world, store, *"abcde")
    assert await claimed(world, store) == ["a", "b"]
    assert await claimed(world, store, 60) == []
    for name in ("a", "b"):
        await end(store, await read(store, tasks[name]), TaskState.PROCESSED, at=store.now())
    assert await claimed(world, store) == ["c", "d"]
    await end(store, await read(store, tasks["c"]), TaskState.PROCESSED, at=store.now())
    assert await claimed(world, store) == []
    assert await claimed(world, store, 5) == ["e"]


async def test_a_waiting_task_that_is_cancelled_takes_no_token_and_delays_no_other(world: World, rated: Store) -> None:
    await submitted(world, rated, *"abcde")
    await claimed(world, rated)
    await rated.client.direct("c", Directive(verb="cancel", actor="ada"))
    await rated.client.direct("d", Directive(verb="suspend", actor="ada"))
    assert await claimed(world, rated, 5) == ["c", "e"]


async def test_tasks_that_were_let_go_and_not_claimed_hold_up_none_for_long(world: World, rated: Store) -> None:
    await submitted(world, rated, *"abcd")
    await claimed(world, rated)
    world.clock.advance(60)
    assert ids(await rated.scheduler.claim("s1", SERVED, 1)) == ["c"]
    assert ids(await rated.scheduler.claim("s1", SERVED, 1)) == ["d"]


async def test_a_rate_that_is_changed_counts_at_once(world: World, rated: Store) -> None:
    await submitted(world, rated, *"abcdefgh")
    await claimed(world, rated)
    await rated.operators.set_limit(ORDERS, SetLimit(rate=RateLimit(4, 4.0)), "ada")
    assert await claimed(world, rated) == []
    assert await claimed(world, rated, 1.1) == ["c"]
    assert await claimed(world, rated, 1) == ["d"]
    await rated.operators.set_limit(ORDERS, SetLimit(concurrency=None, rate=None), "ada")
    assert await claimed(world, rated) == ["e", "f", "g", "h"]
