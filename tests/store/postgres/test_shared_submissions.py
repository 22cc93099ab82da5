"""What a submission costs the server."""

from __future__ import annotations

from itertools import pairwise

import pytest

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
