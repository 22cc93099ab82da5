"""The same random stream of verbs on SQLite and PostgreSQL: equal answers at each step, equal rows throughout."""

from __future__ import annotations

import random
from typing import Any

import pytest

from servers.postgres import versions
from stepward.clock import Environment
from stepward.store.postgres import PostgresStore
from stepward.store.sqlite import SqliteStore
from tests.store.conformance.world import HandClock
from tests.store.differential import Stream
from tests.store.postgres.server import Servers
from tests.store.postgres.worlds import SchemaPlace
from tests.store.verbs import MAKERS
from tests.tiers import sampled

pytestmark = pytest.mark.servers

STEPS = 1500
LOOK_EVERY = 10
ROWS = {
    "task": "uid",
    "step": "task, run, key",
    "signal_seen": "task, name, id",
    "live_value": "task, name",
    "stream_value": "task, name, position",
    "update_request": "task, id",
    "instance": "id",
    "leadership": "seat",
    "workflow": "name, version",
    "schedule": "name",
    "agent": "name",
    "flow_limit": "name",
    "agent_slot": "agent, instance",
    "task_permit": "task",
    "rate_bucket": "name, key",
    "submission_key": "workflow, rule, key",
    "joined_submission": "id",
    "inbox": "number",
    "alert": "number",
    "audit": "number",
    "message": "token",
    "dead_letter": "number",
}
"""The tables, and the order in which both stores list the same rows."""
UNLIKE = {"number", "token", "xid", "silent_at"}
"""Numbers that are drawn; and of instances that renew together after a silence, one note of it will do."""


@pytest.mark.parametrize("seed", sampled(range(4), 0))
@pytest.mark.parametrize("version", sampled(sorted({min(versions()), max(versions())}), min(versions())))
async def test_a_stream_of_verbs_leaves_the_same_on_both(servers: Servers, version: str, seed: int) -> None:
    clock = HandClock()
    environment = Environment(clock=clock, random=random.Random(seed))
    sqlite = SqliteStore(f"file:/differential-{seed}?vfs=memdb", app="shop", environment=environment)
    postgres = SchemaPlace(await servers.emptied(version)).make(environment)
    await sqlite.open()
    await postgres.open()
    stream = Stream([sqlite, postgres], clock, seed, MAKERS)
    try:
        for number in range(STEPS):
            await stream.step()
            if number % LOOK_EVERY == 0:
                await compare(sqlite, postgres, stream)
        await compare(sqlite, postgres, stream)
    finally:
        await sqlite.close()
        await postgres.close()
    assert set(MAKERS) - set(stream.succeeded) == {"later"}


async def compare(sqlite: SqliteStore, postgres: PostgresStore, stream: Stream) -> None:
    for table, order in ROWS.items():
        ours, theirs = sqlite_rows(sqlite, table, order), await postgres_rows(postgres, table, order)
        assert len(theirs) == len(ours), f"{table} after {len(stream.log)}, {stream.log[-LOOK_EVERY:]}"
        for their, our in zip(theirs, ours, strict=True):
            differing = {name: (our[name], value) for name, value in their.items() if our[name] != value}
            assert differing == {}, (
                f"{table} {list(our.values())[:3]} after {len(stream.log)}, {stream.log[-LOOK_EVERY:]}"
            )


def sqlite_rows(store: SqliteStore, table: str, order: str) -> list[dict[str, Any]]:
    connection = store._database.connection
    assert connection is not None
    cursor = connection.raw.execute(f"select * from stepward_{table} order by {order}")
    rows = cursor.fetchall()
    names = [row[1] for row in connection.raw.execute(f"pragma table_info(stepward_{table})")]
    return [_plain(dict(zip(names, row, strict=True))) for row in rows]


async def postgres_rows(store: PostgresStore, table: str, order: str) -> list[dict[str, Any]]:
    async with store._database.others.pool.acquired() as connection:
        found = await connection.raw.fetch(f"select * from stepward_shop.{table} order by {order}")
    # The leadership row exists before the first leader: term 0.
    return [_plain(dict(row)) for row in found if dict(row).get("term") != 0]


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in UNLIKE}
