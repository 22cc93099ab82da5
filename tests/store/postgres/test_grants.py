"""``stepward grant``: each kind of login gets what its process needs, and no more."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import asyncpg
import pytest
from click.testing import CliRunner

from stepward.cli.commands.store import grant
from stepward.cli.main import cli
from stepward.errors import Refused
from stepward.store.postgres.schema.grant_script import grants
from stepward.store.postgres.schema.required_privileges import LOGIN_PRIVILEGES, PRIVILEGES, LoginKind
from tests.store.postgres.test_table_privileges import GRANTED
from tests.store.postgres.worlds import Database

pytestmark = pytest.mark.servers


@pytest.fixture
async def owned(database: Database) -> AsyncIterator[Database]:
    await (await database.opened()).close()
    try:
        yield database
    finally:
        await database.close()
        logins = [f"grant_{kind.name.lower()}" for kind in LoginKind]
        for login in logins:
            if await database.rows(f"select 1 from pg_roles where rolname = '{login}'"):
                await database.run(f"drop owned by {login}; drop role {login}")


async def granted(database: Database, kind: str, login: str, *more: str) -> str:
    words = ["grant", kind, login, "--store", database.address, *more]
    done = await asyncio.to_thread(lambda: CliRunner().invoke(cli, words))
    assert done.exit_code == 0, done.output
    return done.output


@pytest.mark.parametrize("kind", LoginKind)
async def test_a_login_has_what_its_kind_needs_and_no_more(owned: Database, kind: LoginKind) -> None:
    login = f"grant_{kind.name.lower()}"
    await owned.rows(f"create role {login} login")
    await owned.rows(f"grant delete on stepward_shop.meta to {login}")
    for _ in range(2):
        await granted(owned, kind.value, login, "--apply")
    found = {tuple(row) for row in await owned.rows(GRANTED.format(login=login))}
    assert found == {(table, PRIVILEGES[each]) for table, letters in LOGIN_PRIVILEGES[kind].items() for each in letters}


async def test_who_only_reads_neither_writes_nor_sees_hashes(owned: Database) -> None:
    await granted(owned, "read-only", "grant_read_only", "--apply")
    reader = await asyncpg.connect(owned.server.address(owned.name, "grant_read_only"))
    try:
        assert await reader.fetch("select * from stepward_shop.task") == []
        for refused in ("select * from stepward_shop.credential", "delete from stepward_shop.task"):
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await reader.fetch(refused)
    finally:
        await reader.close()


async def test_it_only_prints_without_apply(owned: Database) -> None:
    said = await granted(owned, "agent", "grant_agent")
    assert "grant usage on schema stepward_shop to grant_agent;" in said
    assert await owned.rows("select 1 from pg_roles where rolname = 'grant_agent'") == []


async def test_every_table_is_somebodys(owned: Database) -> None:
    tables = {
        row[0] for row in await owned.rows("select tablename::text from pg_tables where schemaname = 'stepward_shop'")
    }
    assert tables == set(LOGIN_PRIVILEGES[LoginKind.OPERATOR])


@pytest.mark.parametrize("login", ["", "a b", "a;drop role b", 'a"b', "A", "1a", "a" * 64, "a'--"])
def test_a_name_that_is_more_than_a_name_is_refused(login: str) -> None:
    with pytest.raises(Refused, match="LOGIN: expected"):
        grants(LoginKind.AGENT, login, "stepward_shop")


def test_the_command_knows_every_kind() -> None:
    assert list(grant.KINDS) == [kind.value for kind in LoginKind]


def test_a_store_in_a_file_knows_no_logins() -> None:
    done = CliRunner().invoke(cli, ["grant", "agent", "a", "--store", "sqlite:///x.db"])
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
