"""A store of an older version becomes what a new one is, and its tasks go on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import apsw
import pytest

from stepward.model.records import WorkflowRecord
from stepward.model.states import StepState, TaskState
from stepward.store.contract import Change, Store
from stepward.store.sqlite.schema.migration import APPLICATION_ID, migrations
from stepward.store.store_at_address import missing
from tests.store.conformance.world import DONE, SERVED, START, end, finish, move, read, read_step, scheduler
from tests.store.places import execute, opened

pytestmark = pytest.mark.by_migrations

COLUMNS = """select t.name, c.name, c.type, c."notnull", c.dflt_value, c.pk
    from sqlite_schema as t cross join pragma_table_xinfo(t.name) as c where t.type = 'table' order by t.name, c.cid"""
INDEXES = "select name, sql from sqlite_schema where type = 'index' order by name"
CONTENT = f"""
insert into stepward_meta values ('app', 'shop'), ('schema_version', 1);
insert into stepward_task values
    ('u1', 'half-done', 'order', '1', 'processing', 5, null, x'7b7d', 1, x'5b5d', null, null, 's0', null, null, null,
     null, 0, 0, 0, null, null, null, 'replies.shop.web', {START}, {START}, null),
    ('u2', 'new', 'order', '1', 'pending', 5, null, x'7b7d', 1, x'5b5d', null, null, null, null, null, null,
     null, 0, 0, 0, null, null, null, null, {START}, null, null);
insert into stepward_step values
    ('u1', 1, 'charge/1', 1, 'charge', 'operation', 'running', 'pay', 1, 0, null, null, {START}, null, null, null,
     x'5b5d', null, null, 0, 0, 0, 0, 0);
insert into stepward_instance values
    ('s0', 'scheduler', 'here', 1, '[]', {START}, {START}, 0, 1, {START}, null, {START});
insert into stepward_workflow values ('order', '1', x'7b7d', x'7b7d', null, {START});
insert into stepward_message (queue, body, expires_at, taken_until) values ('q', x'31', null, 0.0);
"""
"""What the first version of the tables held: columns stand as they stood then."""


@pytest.fixture
def first(tmp_path: Path) -> Path:
    """A store as the first version left it."""
    file = tmp_path / "first.db"
    connection = apsw.Connection(str(file))
    connection.pragma("application_id", APPLICATION_ID)
    connection.pragma("journal_mode", "wal")
    connection.execute(migrations()[0][1])
    connection.execute(CONTENT)
    connection.close()
    return file


def shape(file: Path) -> list[tuple[Any, ...]]:
    return [*execute(file, COLUMNS), *execute(file, INDEXES)]


async def test_a_migrated_store_equals_a_new_one(first: Path, tmp_path: Path) -> None:
    fresh = tmp_path / "fresh.db"
    assert shape(first) != []
    for file in (first, fresh):
        await (await opened(file)).close()
    assert shape(first) == shape(fresh)
    assert execute(first, "select value from stepward_meta where key = 'schema_version'") == [(migrations()[-1][0],)]


async def test_the_tasks_of_an_older_store_go_on(first: Path) -> None:
    store = await opened(first)
    term = await _lead(store)
    assert await store.supervisor.free(term, 10) == 1
    histories = await store.scheduler.claim("s1", SERVED, 9)
    assert [(h.task.id, h.task.state, h.task.events) for h in histories] == [
        ("half-done", TaskState.PROCESSING, 0),
        ("new", TaskState.PROCESSING, 0),
    ]
    (charge,) = histories[0].steps
    change = Change(
        task="u1", finishes=[finish(charge)], move=move(histories[0].task, TaskState.PROCESSED, output=DONE)
    )
    assert (await store.scheduler.commit("s1", [change], None)).missed == {}
    await end(store, histories[1].task, TaskState.PROCESSED)
    assert (await read_step(store, histories[0].task)).state is StepState.COMPLETED
    assert (await read(store, histories[0].task)).output == DONE
    await store.close()


async def test_what_else_an_older_store_holds_is_kept(first: Path) -> None:
    store = await opened(first)
    (message,) = await store.messages.take("q", 9, 10)
    assert (message.body, message.tries) == (b"1", 1)
    assert await store.client.workflows() == [WorkflowRecord(name="order", version="1", schema=b"{}", policy=b"{}")]
    assert await store.operators.dead_letters(9) == []
    await store.close()


async def _lead(store: Store) -> int:
    await scheduler(store)
    term = await store.supervisor.lead("supervisor", 10)
    assert term is not None
    return term


async def test_the_printed_sql_does_what_a_migration_does(first: Path, tmp_path: Path) -> None:
    fresh = tmp_path / "fresh.db"
    await (await opened(fresh)).close()
    for part in missing(f"sqlite:///{first}"):
        execute(first, part)
    assert shape(first) == shape(fresh)
    assert missing(f"sqlite:///{first}") == []
