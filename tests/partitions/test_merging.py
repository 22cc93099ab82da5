"""Pages of several stores become one without a gap, whatever each store's page ends at."""

from __future__ import annotations

import random

import pytest

from stepward.model.records import Task
from stepward.store.contract import FoundTasks, TaskSearch
from stepward.store.partitions.merging import merged_page
from stepward.store.search.statements import TaskKey


def task(at: float, uid: str) -> Task:
    return Task(uid=uid, id=uid, workflow="w", version="1", input=b"[]", created_at=at)


def page(tasks: list[Task], search: TaskSearch, bound: int) -> FoundTasks:
    """A page as a store gives it: it goes through at most ``bound`` tasks, and may be short of the limit."""
    keyed = sorted(((TaskKey(each.created_at, each.uid), each) for each in tasks), reverse=search.newest_first)
    after = search.after
    rest = [each for each in keyed if after is None or (each[0] < after if search.newest_first else each[0] > after)]
    found = rest[: min(bound, search.limit)]
    return FoundTasks([each for _, each in found], found[-1][0] if len(found) < len(rest) else None)


@pytest.mark.parametrize("newest_first", [True, False])
@pytest.mark.parametrize("seed", range(400_000_100, 400_000_130))
def test_every_task_is_listed_once_and_in_order(seed: int, newest_first: bool) -> None:
    chance = random.Random(seed)
    stores: list[list[Task]] = [[] for _ in range(3)]
    for number in range(60):
        chance.choice(stores).append(task(float(chance.randrange(20)), f"t{number:02d}"))
    search = TaskSearch(newest_first=newest_first, limit=chance.randrange(1, 12))
    listed: list[Task] = []
    while True:
        found = merged_page([page(tasks, search, chance.randrange(1, 15)) for tasks in stores], search)
        assert len(found.tasks) <= search.limit
        listed += found.tasks
        if found.after is None:
            break
        search = TaskSearch(newest_first=newest_first, limit=search.limit, after=found.after)
    keys = [(each.created_at, each.uid) for each in listed]
    assert keys == sorted(keys, reverse=newest_first)
    assert len(keys) == 60
