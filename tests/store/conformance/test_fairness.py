"""Fairness keys take turns within a priority, from claim to claim."""

from __future__ import annotations

import random
from typing import Any

import pytest

from stepward.model.records import Task
from stepward.model.states import TaskState
from stepward.store.contract import Change, Least, Store
from tests.store.conformance.world import SERVED, World, claimed, ids, move, scheduler

BOTH = [("order", "1"), ("refund", "1")]


async def line(world: World, store: Store, key: str | None, count: int, **fields: Any) -> None:
    """So many tasks of one key, named after it."""
    name = key or "none"
    await store.client.submit([world.task(f"{name}{number}", fairness_key=key, **fields) for number in range(count)])


async def test_keys_take_turns_and_no_key_is_one_of_them(world: World, store: Store) -> None:
    await line(world, store, "a", 9)
    await line(world, store, None, 2)
    await line(world, store, "b", 3)
    assert ids(await store.scheduler.claim("s1", SERVED, 7)) == ["a0", "b0", "none0", "a1", "b1", "none1", "a2"]
    assert ids(await store.scheduler.claim("s1", SERVED, 99)) == ["b2", *(f"a{number}" for number in range(3, 9))]


async def test_turns_go_on_from_claim_to_claim(world: World, store: Store) -> None:
    for key in ("a", "b", "c"):
        await line(world, store, key, 3)
    taken = [ids(await store.scheduler.claim("s1", SERVED, 1)) for _ in range(5)]
    assert taken == [["a0"], ["b0"], ["c0"], ["a1"], ["b1"]]


async def test_each_priority_has_turns_of_its_own(world: World, store: Store) -> None:
    for key in ("a", "b"):
        await line(world, store, key, 4, priority=1)
    assert ids(await store.scheduler.claim("s1", SERVED, 1)) == ["a0"]
    await store.client.submit([world.task(f"high{key}", fairness_key=key, priority=9) for key in "ab"])
    assert ids(await store.scheduler.claim("s1", SERVED, 1)) == ["higha"]
    assert ids(await store.scheduler.claim("s1", SERVED, 3)) == ["highb", "b0", "a1"]


async def test_a_key_has_one_turn_in_all_workflows(world: World, store: Store) -> None:
    tasks = [world.task(f"a{n}", fairness_key="a", workflow=BOTH[n % 2][0]) for n in range(4)]
    await store.client.submit([*reversed(tasks), world.task("b0", fairness_key="b", workflow="refund")])
    assert ids(await store.scheduler.claim("s1", BOTH, 9)) == ["a0", "b0", "a1", "a2", "a3"]


async def test_more_keys_than_are_claimed_at_once_all_have_their_turn(world: World, store: Store) -> None:
    tasks = [world.task(f"{number}-{key}", fairness_key=f"k{key:02}") for number in range(2) for key in range(50)]
    await store.client.submit(tasks)
    taken = [id for _ in range(15) for id in ids(await store.scheduler.claim("s1", SERVED, 7))]
    assert taken == [task.id for task in tasks]


async def test_a_few_tasks_of_one_are_not_lost_behind_many_of_another(world: World, store: Store) -> None:
    await line(world, store, "big", 500)
    await line(world, store, "small", 2)
    taken = ids(await store.scheduler.claim("s1", SERVED, 100))
    assert taken == ["big0", "small0", "big1", "small1", *(f"big{number}" for number in range(2, 98))]


async def test_many_keys_of_one_task_leave_the_rest_to_who_has_more(world: World, store: Store) -> None:
    await line(world, store, "big", 500)
    await store.client.submit([world.task(f"small{key}", fairness_key=f"small{key}") for key in range(60)])
    taken = ids(await store.scheduler.claim("s1", SERVED, 200))
    assert (len(taken), taken[0], taken[61:]) == (200, "big0", [f"big{number}" for number in range(1, 140)])


async def test_a_claim_may_leave_out_what_deserves_no_room(world: World, store: Store) -> None:
    for priority in (1, 2, 9):
        for key in ("a", "b"):
            await line(world, store, f"{key}-{priority}-", 2, priority=priority)
    await store.client.submit([world.task("c", fairness_key="c", priority=1)])
    assert ids(await store.scheduler.claim("s1", SERVED, 2, Least(9, frozenset({"a-9-"})))) == ["b-9-0", "b-9-1"]
    assert ids(await store.scheduler.claim("s1", SERVED, 9, Least(2))) == [
        "a-9-0",
        "a-9-1",
        "a-2-0",
        "b-2-0",
        "a-2-1",
        "b-2-1",
    ]
    assert ids(await store.scheduler.claim("s1", SERVED, 9, Least(1, frozenset({"a-1-", "b-1-"})))) == ["c"]
    assert await store.scheduler.claim("s1", SERVED, 9, Least(2)) == []
    assert ids(await store.scheduler.claim("s1", SERVED, 1)) == ["a-1-0"]


async def test_leaving_out_no_key_is_leaving_out_one(world: World, store: Store) -> None:
    await line(world, store, None, 2)
    await line(world, store, "a", 2)
    assert ids(await store.scheduler.claim("s1", SERVED, 9, Least(5, frozenset({None})))) == ["a0", "a1"]


async def test_a_task_that_was_let_go_comes_back_in_its_place(world: World, store: Store) -> None:
    first = await claimed(world, store, fairness_key="a")
    await line(world, store, "a", 2)
    change = Change(task=first.uid, move=move(first, TaskState.PENDING, release=True, progress=False))
    assert (await store.scheduler.commit("s1", [change], None)).missed == {}
    (history, other) = await store.scheduler.claim("s1", SERVED, 2)
    assert (history.task.id, other.task.id) == (first.id, "a0")
    assert (history.task.started_at, history.task.failure_count) == (first.started_at, 0)


async def test_other_stores_have_turns_of_their_own(world: World, store: Store) -> None:
    other = await world.open()
    await scheduler(other, "s2")
    for key in ("a", "b"):
        await line(world, store, key, 3)
    assert ids(await store.scheduler.claim("s1", SERVED, 1)) == ["a0"]
    assert ids(await other.scheduler.claim("s2", SERVED, 1)) == ["a1"]
    assert ids(await store.scheduler.claim("s1", SERVED, 1)) == ["b0"]


class Plain:
    """The next task by a plain model that examines every task each time."""

    def __init__(self) -> None:
        self.free: list[Task] = []
        self._last: dict[int, str] = {}

    def claim(self, limit: int, least: Least | None) -> list[str]:
        return [task.id for _ in range(limit) if (task := self._next(least)) is not None]

    def _next(self, least: Least | None) -> Task | None:
        able = [task for task in self.free if _is_above(task, least)]
        if not able:
            return None
        priority = max(task.priority for task in able)
        keys = sorted({_key(task) for task in able if task.priority == priority})
        last = self._last.get(priority, "")
        self._last[priority] = next((key for key in keys if key > last), keys[0])
        line = (task for task in able if (task.priority, _key(task)) == (priority, self._last[priority]))
        chosen = min(line, key=lambda task: task.uid)
        self.free.remove(chosen)
        return chosen


def _key(task: Task) -> str:
    return task.fairness_key or ""


def _is_above(task: Task, least: Least | None) -> bool:
    if least is None or task.priority > least.priority:
        return True
    return task.priority == least.priority and task.fairness_key not in least.but


@pytest.mark.parametrize("seed", range(3))
async def test_whatever_is_claimed_is_who_is_next(world: World, store: Store, seed: int) -> None:
    chance, plain = random.Random(seed), Plain()
    keys = [None, "a", "B", "é", "z\x01", "\U0010ffff", *(f"k{number}" for number in range(chance.choice([0, 9])))]
    for _ in range(40):
        more = [
            world.task(
                fairness_key=chance.choice(keys), priority=chance.choice([0, 5, 9]), workflow=chance.choice(BOTH)[0]
            )
            for _ in range(chance.choice([0, 1, 12]))
        ]
        plain.free += more
        await store.client.submit(more)
        but = frozenset(chance.sample(keys, chance.randrange(3)))
        least = chance.choice([None, None, Least(chance.choice([0, 5, 9]), but)])
        limit = chance.choice([1, 2, 5, 30])
        assert ids(await store.scheduler.claim("s1", BOTH, limit, least)) == plain.claim(limit, least)
