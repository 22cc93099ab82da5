"""Grace after an outage on SQLite, and steps that cannot be decided: bounded work, however many rows there are."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from stepward.clock import Environment
from stepward.model.records import Instance, Role
from stepward.store.sqlite import SqliteStore
from stepward.store.sqlite.engine.connection import Connection
from stepward.store.verbs.instances import outage_grace
from tests.store.conformance.world import HandClock

LEASE = 10.0
MANY = 150_000
FILL = """
with recursive numbers (n) as (select {first} union all select n + 1 from numbers where n < {last})
insert into stepward_task (uid, id, workflow, version, state, priority, labels, run, input, locked_by, complete_by,
    inbox, failure_count, recovery_count, created_at)
select printf('t%07d', n), 'i' || n, 'w', '1', '{state}', 5, x'7b7d', 1, x'5b5d', {owner}, {by}, 0, 0, 0, 0
from numbers;
with recursive numbers (n) as (select {first} union all select n + 1 from numbers where n < {last})
insert into stepward_step (task, run, key, number, name, kind, state, agent, attempt, failure_count, complete_by,
    input, has_undo, irreversible, in_doubt, watched, generation)
select printf('t%07d', n), 1,
    'pay/1', 1, 'pay', 'operation', 'running', 'bank', 1, 0, {by}, x'5b5d', 0, 0, 0, {watched}, 0
from numbers;
"""


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
async def store(clock: HandClock, tmp_path: Path) -> AsyncIterator[SqliteStore]:
    store = _made(clock, tmp_path)
    await store.open()
    yield store
    await store.close()


def _made(clock: HandClock, folder: Path) -> SqliteStore:
    return SqliteStore(f"{folder}/store.db", app="shop", environment=Environment(clock=clock))


async def _run(store: SqliteStore, script: str) -> None:
    def run(connection: Connection) -> None:
        for statement in script.split(";\n"):
            connection.rows(statement)

    await store._database.write(run)


async def _rows(store: SqliteStore, sql: str) -> list[Any]:
    return await store._database.read(Connection.rows, sql)


async def _fill(store: SqliteStore, now: float, last: int, **different: Any) -> None:
    usual = {"first": 1, "state": "processing", "owner": "'s1'", "by": now - 1, "watched": 1}
    await _run(store, FILL.format(**usual | {"last": last} | different))


async def _outage(clock: HandClock, store: SqliteStore) -> int:
    """All are silent for longer than a lease; the term of who leads then."""
    for id, role in (("s1", Role.SCHEDULER), ("sup", Role.SUPERVISOR)):
        await store.host.register(Instance(id=id, role=role, host="h", pid=1, serves=[]), LEASE)
    clock.advance(3 * LEASE)
    term = await store.supervisor.lead("sup", 1_000_000)
    assert term is not None
    return term


@pytest.fixture
def batches_of_three(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the stores that are made from then on."""
    monkeypatch.setattr(outage_grace, "BATCH", 3)


@pytest.mark.usefixtures("batches_of_three")
async def test_grace_is_given_in_batches_and_another_leader_goes_on(
    clock: HandClock, store: SqliteStore, tmp_path: Path
) -> None:
    await _fill(store, store.now(), 5)
    await _fill(store, store.now(), 8, first=6, owner="'s2'")
    await _fill(store, store.now(), 9, first=9, owner="null", state="suspended")
    before = store.now() - 1
    term = await _outage(clock, store)
    now = store.now()
    assert await store.supervisor.forgive(term, LEASE)
    assert (await store.supervisor.due()).grace
    assert await store.supervisor.go_on_forgiving(term + 1) == 0
    assert await store.supervisor.go_on_forgiving(term) == 3
    other = _made(clock, tmp_path)
    await other.open()
    assert (await other.supervisor.due()).grace
    assert await other.supervisor.go_on_forgiving(term) == 2
    assert not (await other.supervisor.due()).grace
    assert await other.supervisor.go_on_forgiving(term) == 0
    await other.close()
    for table in ("task", "step"):
        found = await _rows(store, f"select complete_by from stepward_{table} order by rowid")
        assert found == [(now + LEASE,)] * 8 + [(before,)]


@pytest.mark.faults
async def test_very_many_running_steps_get_their_grace(clock: HandClock, store: SqliteStore) -> None:
    await _fill(store, store.now(), MANY)
    term = await _outage(clock, store)
    now, began, batches, longest = store.now(), time.perf_counter(), 0, 0.0
    assert await store.supervisor.forgive(term, LEASE)
    while (await store.supervisor.due()).grace:
        asked = time.perf_counter()
        assert await store.supervisor.go_on_forgiving(term) <= outage_grace.BATCH
        longest, batches = max(longest, time.perf_counter() - asked), batches + 1
    print(f"{MANY:,} steps in {time.perf_counter() - began:.1f} s, the longest batch {longest:.3f} s")
    assert batches >= MANY / outage_grace.BATCH - 1
    assert await _rows(store, f"select count(*) from stepward_step where complete_by = {now + LEASE}") == [(MANY,)]


async def test_steps_that_cannot_be_decided_are_skipped(
    clock: HandClock, store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = store.now()
    await store.host.register(Instance(id="s1", role=Role.SCHEDULER, host="h", pid=1, serves=[]), LEASE)
    await _fill(store, now, 3_000, state="suspended", owner="null")
    await _fill(store, now, 3_002, first=3_001, by=now - 0.5)
    read, seen = Connection.rows, list[int]()

    def counted(connection: Connection, sql: str, values: Any = ()) -> list[Any]:
        found = read(connection, sql, values)
        if "stepward_step_watched" in sql:
            seen.append(len(found))
        return found

    monkeypatch.setattr(Connection, "rows", counted)
    assert [step.task for step in await store.supervisor.expired_steps(100)] == ["t0003001", "t0003002"]
    clock.advance(1)
    await _fill(store, now, 3_003, first=3_003, by=now + 0.5)
    seen.clear()
    assert [step.task for step in await store.supervisor.expired_steps(100)] == ["t0003003"]
    assert 0 < sum(seen) <= 101
    await _run(store, "update stepward_task set state = 'processing', locked_by = 's1' where uid = 't0000150'")
    found = {step.task for _ in range(31) for step in await store.supervisor.expired_steps(100)}
    assert found == {"t0000150", "t0003001", "t0003002", "t0003003"}
