"""Each kind of process works with the rights that the guide gives it, and says at its start what it lacks."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from stepward import Accepted, App, Message, Queues, Singleton, TaskUndone
from stepward.errors import StoreUnusable
from stepward.model.records import Role
from stepward.model.states import TaskState
from stepward.store.contract import Transaction
from stepward.store.postgres.schema import versions
from stepward.store.postgres.schema.required_privileges import PRIVILEGES, PROCESS_PRIVILEGES
from tests.store.postgres import application
from tests.store.postgres.worlds import Database

pytestmark = pytest.mark.servers

BOUND = 120.0
GUIDE = Path("docs/deployment.md").read_text(encoding="utf-8").partition("## Rights on PostgreSQL")[2]
OWNER_SQL, OTHERS_SQL = re.findall(r"```sql\n(.*?)```", GUIDE, re.DOTALL)[:2]
LOGINS = re.findall(r"create role (\w+) login", OWNER_SQL + OTHERS_SQL)
GRANTED = """
select c.relname::text, lower(p.privilege_type) from pg_class as c, aclexplode(c.relacl) as p
where c.relnamespace = 'stepward_shop'::regnamespace and p.grantee = '{login}'::regrole
"""


@pytest.fixture
async def guided(database: Database) -> AsyncIterator[Database]:
    """A store that its owner made, and the logins of the guide."""
    try:
        await database.run(OWNER_SQL)
        async with _app(database, "owner").client():
            pass
        await database.run(OTHERS_SQL)
        yield database
    finally:
        await database.close()
        await database.run(f"drop owned by {', '.join(LOGINS)}; drop role {', '.join(LOGINS)}")


def _address(database: Database, kind: str) -> str:
    return database.server.address(database.name, f"shop_{kind}")


def _app(database: Database, kind: str, **settings: Any) -> App:
    app = application.application(_address(database, kind), transport="store", **settings)
    app.submission("orders", accept=_accept)
    app.schedule("hourly", application.parent, "0 * * * *", args=("cup",))
    return app


def _supervised(database: Database) -> App:
    return App("shop", store=_address(database, "supervisor"), retention="1s", **application.SETTINGS)


async def _accept(message: Message, transaction: Transaction) -> Accepted:
    return Accepted(application.order, message.read(str))


@asynccontextmanager
async def _at_work(database: Database) -> AsyncIterator[None]:
    """A process of each kind, under its login."""
    none: dict[str, Any] = {"scheduler": False, "agents": False, "supervisor": False, "submission": False}
    async with (
        _app(database, "agent").running(**none | {"agents": True}),
        _app(database, "scheduler").running(**none | {"scheduler": True}),
        _supervised(database).running(**none | {"supervisor": True}),
        _app(database, "submission").running(**none | {"submission": True}),
    ):
        yield


async def test_each_kind_works_with_the_rights_of_the_guide(guided: Database) -> None:
    log = guided.server.folder.parent / "data.log"
    await guided.rows(f"alter database {guided.name} set log_min_messages = error")
    stranger = await asyncpg.connect(_address(guided, "web"))
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await stranger.fetch("select * from stepward_shop.leadership")
    await stranger.close()
    before = log.stat().st_size
    assert "permission denied for table leadership" in log.read_text(errors="replace")
    async with _at_work(guided), _app(guided, "web").client() as client, asyncio.timeout(BOUND):
        await guided.rows("update stepward_shop.schedule set next_at = 1")
        paid = await client.submit(application.order, "pen")
        undone = await client.submit(application.failing_order, "cap")
        waits = await client.submit(application.parent, "cup", id="waits")
        await waits.signal("go", "go")
        assert await paid.result() == ["paid pen", "paid pen too"]
        assert (await waits.result())[0] == "go"
        with pytest.raises(TaskUndone):
            await undone.result()
        async with Queues(_address(guided, "web"), app="shop") as queues:
            await queues.post("orders", "hat", id="posted", reply_to="replies.shop.web")
            async for event in queues.events("replies.shop.web"):
                if event.type == "stepward.task.completed":
                    break
    while await guided.rows("select 1 from stepward_shop.task where finished_at is not null"):
        await _supervised(guided).supervise_once()
    assert "permission denied" not in log.read_text(errors="replace")[before:]


async def test_an_application_replaces_a_task_that_no_scheduler_has_begun(guided: Database) -> None:
    newest = Singleton("cup", if_running="replace")
    async with _app(guided, "web").client() as client:
        first = await client.submit(application.parent, "cup", per_key=newest)
        await client.submit(application.parent, "cup", per_key=newest)
        assert (await first.status()).state is TaskState.CANCELLED


async def test_an_operator_needs_no_more_than_the_tables(guided: Database) -> None:
    async with _app(guided, "web").client() as client:
        await client.submit(application.parent, "cup", id="waits")
    async with _app(guided, "operator").client() as client:
        await client.task("waits").cancel()
        assert [task.state for task in await client.tasks()] == [TaskState.CANCELLED]


@pytest.mark.parametrize("role", Role)
async def test_the_guide_grants_what_is_checked_and_no_more(guided: Database, role: Role) -> None:
    granted = {tuple(row) for row in await guided.rows(GRANTED.format(login=f"shop_{role.value}"))}
    assert granted == {
        (table, PRIVILEGES[each]) for table, letters in PROCESS_PRIVILEGES[role].items() for each in letters
    }


@pytest.mark.parametrize("role", Role)
async def test_each_right_that_is_missing_is_named_at_the_start(guided: Database, role: Role) -> None:
    login = f"shop_{role.value}"
    store = await guided.opened(address=_address(guided, role.value))
    await store.host.check_rights([role])
    for table, letters in PROCESS_PRIVILEGES[role].items():
        for privilege in [PRIVILEGES[letter] for letter in letters]:
            await guided.rows(f"revoke {privilege} on stepward_shop.{table} from {login}")
            with pytest.raises(StoreUnusable, match=f"expected the rights of {role} for .*: {privilege} on {table};"):
                await store.host.check_rights([role])
            await guided.rows(f"grant {privilege} on stepward_shop.{table} to {login}")


async def test_a_process_that_lacks_rights_does_not_start(guided: Database) -> None:
    await guided.rows("revoke update on stepward_shop.task from shop_scheduler")
    with pytest.raises(StoreUnusable, match="found some missing: update on task; grant"):
        async with _app(guided, "scheduler").running(agents=False, supervisor=False, submission=False):
            pass


async def test_a_user_that_does_not_own_the_tables_sees_who_migrates(
    guided: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    newest = versions.newest()
    known = [*versions.migrations(), (newest + 1, "alter table {schema}.task add column later integer;")]
    monkeypatch.setattr(versions, "migrations", lambda: known)
    expected = f"expected schema version {newest + 1}, found {newest}, which the user shop_scheduler may not change"
    with pytest.raises(StoreUnusable, match=f"{expected}; run `stepward migrate` as shop_owner first"):
        await guided.opened(address=_address(guided, "scheduler"))
    await guided.opened(address=_address(guided, "owner"))
    await guided.opened(address=_address(guided, "scheduler"))
