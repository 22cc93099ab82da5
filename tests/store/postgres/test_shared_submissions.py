"""What a submission costs the server, and what each of several at one time is answered."""

from __future__ import annotations

import asyncio
from itertools import pairwise

import psycopg
import pytest

from stepward.errors import StoreUnavailable
from stepward.store.contract import Submitted
from stepward.store.postgres import PostgresStore
from tests.store.conformance.world import World
from tests.store.postgres.worlds import Database, SchemaPlace

pytestmark = pytest.mark.servers


async def test_a_task_that_is_a_row_is_one_statement_and_a_known_id_is_looked_up(database: Database) -> None:
    world = World(SchemaPlace(database.address))
    store = world.place.make(world.environment)
    assert isinstance(store, PostgresStore)
    await store.open()
    task, events = world.task(), world.task(reply_to="replies.shop.web")
    again = world.task(task.id)
    counts = [store.statements]
    for each in (task, events, again):
        (found,) = await store.client.submit([each])
        counts.append(store.statements)
    assert found == Submitted(task.uid, task.id, created=False, same=True)
    # Begin, the task, its event, commit. For the known id the first insert, then begin, insert, look, follow, commit.
    assert [after - before for before, after in pairwise(counts)] == [1, 4, 6]
    await store.close()


async def test_a_look_at_known_ids_that_fails_is_no_error_of_tasks_that_are_durable(database: Database) -> None:
    commits = 0

    def end_sessions(name: str) -> None:
        nonlocal commits
        commits += name == "store.commit.after"
        if commits == 3:
            with psycopg.connect(database.server.address("postgres"), autocommit=True) as session:
                of_store = "select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = %s"
                session.execute(of_store, (database.name,))

    world = World(SchemaPlace(database.address))
    known, alone, new = world.task(), world.task(), world.task()
    store = await database.opened()
    await store.client.submit([known])
    other = await database.opened(failpoint=end_sessions)
    commits = 1
    calls = (other.client.submit([task]) for task in (alone, world.task(known.id), new))
    found = await asyncio.gather(*calls, return_exceptions=True)
    assert [isinstance(each, StoreUnavailable) for each in found] == [False, True, False]
    assert found[2] == [Submitted(new.uid, new.id, created=True, same=True)]
