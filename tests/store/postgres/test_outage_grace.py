"""Grace after an outage, and steps that cannot be decided: bounded work, however many rows there are."""

from __future__ import annotations

import time
from typing import Any

import pytest

from stepward.model.records import Instance, Role
from stepward.store.postgres import PostgresStore
from stepward.store.postgres.engine.connection import Connection
from stepward.store.verbs.instances import outage_grace
from stepward.store.verbs.instances.supervisor_leadership import Leadership
from tests.store.conformance.world import World
from tests.store.postgres.worlds import Database, SchemaPlace

pytestmark = pytest.mark.servers

LEASE = 10.0
MANY = 700_000
FILL = """
insert into stepward_shop.task (uid, id, workflow, version, state, priority, labels, run, input, locked_by, complete_by,
    inbox, failure_count, recovery_count, created_at)
select 't' || lpad(n::text, 7, '0'), 'i' || n, 'w', '1', '{state}', 5, '{{}}', 1, '[]', {owner}, {by}, 0, 0, 0, 0
from generate_series({first}, {last}) as n;
insert into stepward_shop.step (task, run, key, number, name, kind, state, agent, attempt, failure_count, complete_by,
    input, has_undo, irreversible, in_doubt, watched, generation)
select 't' || lpad(n::text, 7, '0'), 1, 'pay/1', 1, 'pay', 'operation', 'running', 'bank', 1, 0, {by}, '[]', false,
    false, false, {watched}, 0
from generate_series({first}, {last}) as n;
"""


async def _fill(database: Database, now: float, last: int, **different: Any) -> None:
    usual = {"first": 1, "state": "processing", "owner": "'s1'", "by": now - 1, "watched": "true"}
    await database.run(FILL.format(**usual | {"last": last} | different))


async def _outage(world: World, store: PostgresStore) -> int:
    """All are silent for longer than a lease; the term of who leads then."""
    for id, role in (("s1", Role.SCHEDULER), ("sup", Role.SUPERVISOR)):
        await store.host.register(Instance(id=id, role=role, host="h", pid=1, serves=[]), LEASE)
    world.clock.advance(3 * LEASE)
    term = await store.supervisor.lead("sup", 1_000_000)
    assert term is not None
    return term


@pytest.fixture
def world(database: Database) -> World:
    return World(SchemaPlace(database.address))


async def _opened(world: World) -> PostgresStore:
    store = world.place.make(world.environment)
    assert isinstance(store, PostgresStore)
    await store.open()
    return store


async def test_grace_is_given_in_batches_and_another_leader_goes_on(
    database: Database, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outage_grace, "BATCH", 3)
    store, other = await _opened(world), await _opened(world)
    await _fill(database, world.clock.wall(), 8)
    term = await _outage(world, store)
    now = world.clock.wall()
    assert await store.supervisor.forgive(term, LEASE)
    assert (await store.supervisor.due()).grace
    assert await store.supervisor.go_on_forgiving(term + 1) == 0
    assert await store.supervisor.go_on_forgiving(term) == 3
    await store.close()
    assert (await other.supervisor.due()).grace
    assert await other.supervisor.go_on_forgiving(term) == 2
    assert not (await other.supervisor.due()).grace
    assert await other.supervisor.go_on_forgiving(term) == 0
    expected = [(now + LEASE,)] * 8
    assert await database.rows("select complete_by from stepward_shop.task") == expected
    assert await database.rows("select complete_by from stepward_shop.step") == expected
    await other.close()


async def test_deadlines_get_grace_in_batches_after_the_clock_was_set(
    database: Database, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outage_grace, "BATCH", 3)
    store = await _opened(world)
    await _fill(database, world.clock.wall(), 5, state="pending", owner="null", by="null")
    await database.rows("update stepward_shop.task set deadline = 7")
    term = await _outage(world, store)
    now = world.clock.wall()
    engine = store._engine()
    given = outage_grace.Grace(engine, Leadership(engine))
    assert await given.begin(term, LEASE, jumped=True)
    assert await store.supervisor.go_on_forgiving(term) == 2
    assert not (await store.supervisor.due()).grace
    assert await database.rows("select deadline from stepward_shop.task") == [(now + LEASE,)] * 5
    await store.close()


@pytest.mark.faults
async def test_700000_running_steps_get_their_grace(database: Database, world: World) -> None:
    store = await _opened(world)
    await _fill(database, world.clock.wall(), MANY)
    await database.run(["vacuum analyze stepward_shop.task", " "][0])
    term = await _outage(world, store)
    store._database.heed(LEASE)
    began = time.perf_counter()
    assert await store.supervisor.forgive(term, LEASE)
    longest = 0.0
    while (await store.supervisor.due()).grace:
        asked = time.perf_counter()
        await store.supervisor.go_on_forgiving(term)
        longest = max(longest, time.perf_counter() - asked)
    took = time.perf_counter() - began
    print(f"{MANY:,} steps in {took:.1f} s, the longest batch {longest:.2f} s")
    ((count,),) = await database.rows(
        f"select count(*) from stepward_shop.step where complete_by = {world.clock.wall() + LEASE}"
    )
    assert count == MANY
    await store.close()


async def test_steps_that_cannot_be_decided_are_skipped(
    database: Database, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = await _opened(world)
    now = world.clock.wall()
    await store.host.register(Instance(id="s1", role=Role.SCHEDULER, host="h", pid=1, serves=[]), LEASE)
    await _fill(database, now, 3_000, state="suspended", owner="null")
    await _fill(database, now, 3_002, first=3_001, by=now - 0.5)
    read = Connection.rows
    seen: list[int] = []

    async def counted(connection: Connection, query: str, *values: object) -> list[Any]:
        found = await read(connection, query, *values)
        if query == "supervisor.expired_steps":
            seen.append(len(found))
        return found

    monkeypatch.setattr(Connection, "rows", counted)
    assert [step.task for step in await store.supervisor.expired_steps(100)] == ["t0003001", "t0003002"]
    world.clock.advance(1)
    await _fill(database, now, 3_003, first=3_003, by=now + 0.5)
    seen.clear()
    assert [step.task for step in await store.supervisor.expired_steps(100)] == ["t0003003"]
    assert sum(seen) <= 101
    await database.rows("update stepward_shop.task set state = 'processing', locked_by = 's1' where uid = 't0000150'")
    found = {step.task for _ in range(31) for step in await store.supervisor.expired_steps(100)}
    assert found == {"t0000150", "t0003001", "t0003002", "t0003003"}
    await store.close()
