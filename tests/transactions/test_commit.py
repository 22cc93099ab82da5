"""A task that is submitted in a caller's own transaction stands or falls with it, whatever the driver."""

from __future__ import annotations

from typing import Any

import pytest

from stepward import App, Client, TaskHandle
from stepward.errors import TaskConflict
from tests.store.postgres.worlds import Database
from tests.transactions.application import delivery, limited, order
from tests.transactions.connections import Desk

pytestmark = pytest.mark.servers


async def ids(client: Client) -> list[str]:
    return sorted(task.id for task in await client.tasks())


async def cart(database: Database) -> list[Any]:
    return [row[0] for row in await database.rows("select name from public.cart order by 1")]


async def test_rows_and_task_commit_together(desk: Desk, app: App, client: Client, database: Database) -> None:
    await desk.begin()
    await desk.run("insert into public.cart values ('pen')")
    assert await desk.submit(order, "pen", id="o") == "o"
    assert await ids(client) == []
    await desk.commit()
    assert (await ids(client), await cart(database)) == (["o"], ["pen"])
    async with app.running():
        handle: TaskHandle[Any] = client.task("o")
        assert await handle.result(timeout=30) == "packed pen"


async def test_a_rollback_leaves_nothing(desk: Desk, client: Client, database: Database) -> None:
    await desk.begin()
    await desk.run("insert into public.cart values ('pen')")
    await desk.submit(delivery, "pen", id="o", reply_to="replies.shop.x")
    await desk.roll_back()
    assert (await ids(client), await cart(database)) == ([], [])
    for table in ("step", "message"):
        assert await database.rows(f"select count(*) from stepward_shop.{table}") == [(0,)]


async def test_a_savepoint_that_is_rolled_back_takes_its_task_with_it(desk: Desk, client: Client) -> None:
    await desk.begin()
    await desk.submit(order, "pen", id="before")
    await desk.run("savepoint mine")
    await desk.submit(order, "pen", id="within")
    await desk.run("rollback to savepoint mine")
    await desk.submit(order, "pen", id="after")
    await desk.commit()
    assert await ids(client) == ["after", "before"]


async def test_the_same_id_again_is_the_same_task(desk: Desk, client: Client, database: Database) -> None:
    await client.submit(order, "pen", id="old")
    await desk.begin()
    for _ in range(2):
        assert await desk.submit(order, "pen", id="old") == "old"
        assert await desk.submit(order, "pencil", id="new") == "new"
    await desk.commit()
    assert await ids(client) == ["new", "old"]


async def test_what_is_submitted_again_leaves_no_steps_and_no_event(
    desk: Desk, client: Client, database: Database
) -> None:
    await client.submit(delivery, "pen", id="d", reply_to="replies.shop.x")
    await desk.begin()
    await desk.submit(delivery, "pen", id="d", reply_to="replies.shop.x")
    await desk.commit()
    for table, count in (("task", 1), ("step", 2), ("message", 1)):
        assert await database.rows(f"select count(*) from stepward_shop.{table}") == [(count,)]


async def test_a_conflict_breaks_nothing(desk: Desk, client: Client, database: Database) -> None:
    await client.submit(order, "pen", id="o")
    await desk.begin()
    with pytest.raises(TaskConflict, match="id 'o': expected a new id"):
        await desk.submit(order, "pencil", id="o")
    await desk.run("insert into public.cart values ('pen')")
    await desk.submit(order, "pen", id="o2")
    await desk.commit()
    assert (await ids(client), await cart(database)) == (["o", "o2"], ["pen"])


async def test_many_at_once(desk: Desk, client: Client) -> None:
    await desk.begin()
    wanted = [f"o{number}" for number in range(300)]
    assert await desk.submit_many(order, [["pen"]] * 300, ids=wanted) == wanted
    assert len(await desk.submit_many(delivery, [["pen"], ["ink"]])) == 2
    await desk.commit()
    assert len(await client.tasks(limit=1000)) == 302


async def test_a_conflict_among_many_takes_only_them_out_of_the_transaction(
    desk: Desk, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stepward.client.submitting.submissions.BATCH", 2)
    await client.submit(order, "pen", id="taken")
    await desk.begin()
    await desk.submit(order, "pen", id="before")
    with pytest.raises(TaskConflict, match="id 'taken': expected a new id"):
        await desk.submit_many(order, [["ink"]] * 4, ids=["a", "b", "c", "taken"])
    await desk.commit()
    assert await ids(client) == ["before", "taken"]


async def test_nothing_depends_on_the_search_path(desk: Desk, client: Client) -> None:
    await desk.begin()
    await desk.run("set local search_path = ''")
    await desk.submit(order, "pen", id="o")
    await desk.commit()
    assert await ids(client) == ["o"]


OPTIONS: list[tuple[Any, dict[str, Any]]] = [
    (order, {"priority": 9, "labels": {"city": "Köln ☂"}, "fairness_key": "Ärzte %s :x", "delay": "1h"}),
    (limited, {"reply_to": "replies.shop.x"}),
    (delivery, {"reply_to": "replies.shop.x", "complete_by": "2h"}),
]


@pytest.mark.parametrize(("workflow", "options"), OPTIONS, ids=["order", "limited", "delivery"])
async def test_the_rows_are_those_of_any_other_submission(
    desk: Desk, client: Client, database: Database, workflow: Any, options: dict[str, Any]
) -> None:
    what = 'quoted "x" \\ \x00 ☂ %s :given $1'
    await client.submit(workflow, what, id="ours", **options)
    await desk.begin()
    await desk.submit(workflow, what, id="theirs", **options)
    await desk.commit()
    for table, key in (("task", "uid"), ("step", "task"), ("message", None)):
        ours, theirs = await _rows(database, table, key)
        assert _alike(ours) == _alike(theirs)


async def _rows(database: Database, table: str, key: str | None) -> list[list[dict[str, Any]]]:
    """What a table holds of the one task, and of the other."""
    connection = await database.connect()
    found = []
    for id in ("ours", "theirs"):
        of_task = f"{key} = (select uid from stepward_shop.task where id = '{id}')"
        of_message = f"convert_from(body, 'UTF8') like '%\"{id}\"%'"
        sql = f"select * from stepward_shop.{table} where {of_task if key else of_message} order by 1, 2, 3, 4"
        found.append([dict(row) for row in await connection.fetch(sql)])
    assert len(found[0]) == len(found[1])
    return found


def _alike(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows without what no two submissions share."""
    own = {"uid", "id", "task", "token", "xid", "body"}
    return [
        {
            name: round(value / 60) if isinstance(value, float) and value else value
            for name, value in row.items()
            if name not in own
        }
        for row in rows
    ]
