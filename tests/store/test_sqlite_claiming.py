"""What a claim costs depends on what it takes, not on what waits."""

from __future__ import annotations

from pathlib import Path

import pytest

from stepward.model.records import History
from stepward.store.contract import Least
from stepward.store.sqlite import SqliteStore
from tests.store.conformance.world import ids, scheduler
from tests.store.places import execute, opened

FILL = """
insert into stepward_task (uid, id, workflow, version, state, priority, fairness_key, labels, run, input, inbox,
    failure_count, recovery_count, created_at)
select printf('{name}%07d', n), printf('{name}%07d', n), 'w' || (n % 3), '1', 'pending', 5, '{name}' || (n % {keys}),
    x'7b7d', 1, x'5b5d', 0, 0, 0, 0
from (with recursive up (n) as (select 1 union all select n + 1 from up where n < {count}) select n from up)
"""
SERVED = [(f"w{number}", "1") for number in range(3)]


async def filled(path: Path, *lines: tuple[str, int, int]) -> SqliteStore:
    """A store in which so many tasks wait, of so many keys each."""
    store = await opened(path)
    await scheduler(store)
    for name, count, keys in lines:
        execute(path, FILL.format(name=name, count=count, keys=keys))
    return store


async def cost(store: SqliteStore, limit: int, least: Least | None = None) -> tuple[list[History], int]:
    """The claimed tasks, and how many hundreds of SQLite's instructions the claim took."""
    ticks = 0

    def tick() -> bool:
        nonlocal ticks
        ticks += 1
        return False

    assert store._database.connection is not None
    raw = store._database.connection.raw
    raw.set_progress_handler(tick, 100)
    found = await store.scheduler.claim("s1", SERVED, limit, least)
    raw.set_progress_handler(None)
    await store.close()
    return found, ticks


@pytest.mark.parametrize("limit", [1, 10, 300])
async def test_a_longer_backlog_costs_no_more(tmp_path: Path, limit: int) -> None:
    few = await filled(tmp_path / "few.db", ("big", 1_000, 1), ("small", 10, 1))
    many = await filled(tmp_path / "many.db", ("big", 60_000, 1), ("small", 10, 1))
    found, little = await cost(few, limit)
    again, much = await cost(many, limit)
    assert ids(again) == ids(found)
    assert len(found) == limit
    assert much <= 1.2 * little + 2


@pytest.mark.parametrize("limit", [1, 10, 300])
async def test_more_keys_cost_no_more_than_the_turns_that_are_taken(tmp_path: Path, limit: int) -> None:
    few = await filled(tmp_path / "few.db", ("t", 3 * limit, limit + 1))
    many = await filled(tmp_path / "many.db", ("t", 60_000, 5_000))
    _, little = await cost(few, limit)
    found, much = await cost(many, limit)
    assert len({history.task.fairness_key for history in found}) == limit
    assert much <= 1.5 * little + 5


async def test_what_is_left_out_costs_no_walk_along_its_tasks(tmp_path: Path) -> None:
    few = await filled(tmp_path / "few.db", ("big", 1_000, 1), ("small", 10, 1))
    many = await filled(tmp_path / "many.db", ("big", 60_000, 1), ("small", 10, 1))
    least = Least(5, frozenset({"big0"}))
    _, little = await cost(few, 50, least)
    found, much = await cost(many, 50, least)
    assert {history.task.fairness_key for history in found} == {"small0"}
    assert much <= 1.2 * little + 2
