"""Opening a PostgreSQL store: new, older, another application's; an error is one line."""

from __future__ import annotations

import asyncio

import pytest

from servers.ports import free_port
from stepward.errors import StepwardError, StoreUnavailable, StoreUnusable
from stepward.store.contract import Identity, Store
from stepward.store.postgres import PostgresStore
from stepward.store.postgres.engine.connecting import connector
from stepward.store.postgres.schema import versions
from stepward.store.postgres.schema.versions import schema_of
from stepward.store.store_at_address import identify, open_store
from tests.store.listing import listed
from tests.store.postgres.server import WITH_PASSWORD, Server
from tests.store.postgres.worlds import Database, environment_of

pytestmark = pytest.mark.servers


async def refusal(store: Store) -> StepwardError:
    """The error with which the store refuses to open, which must be one line and keep secrets to itself."""
    with pytest.raises(StepwardError) as caught:
        await store.open()
    assert "\n" not in str(caught.value)
    assert "canary" not in str(caught.value)
    return caught.value


async def unprivileged(database: Database, grants: str = "") -> str:
    """The address for a user who may connect and no more."""
    await database.rows(f"create role guest_{database.name} login; {grants}")
    return database.server.address(database.name, f"guest_{database.name}")


async def test_an_address_opens_the_store(database: Database) -> None:
    store = open_store(database.address, app="shop", environment=environment_of())
    assert isinstance(store, PostgresStore)
    await store.open()
    assert await listed(store) == []
    await store.close()
    with pytest.raises(StoreUnavailable, match="expected an open store, found a closed one"):
        await listed(store)


async def test_many_open_a_new_store_at_once(database: Database) -> None:
    stores = [database.store() for _ in range(8)]
    await asyncio.gather(*[store.open() for store in stores])
    (version,) = await database.rows("select value from stepward_shop.meta where key = 'schema_version'")
    assert version == (str(versions.newest()),)


async def test_applications_share_a_database_and_their_own_tables_stay(database: Database) -> None:
    await database.rows("create table task (x integer)")
    shop, blog = await database.opened("shop"), await database.opened("My-Blog")
    found = await database.rows("select nspname::text from pg_namespace where nspname like 'stepward%' order by 1")
    assert found == [("stepward_My-Blog",), ("stepward_shop",)]
    assert await listed(shop) == await listed(blog) == []
    assert await database.rows("select * from task") == []


def test_long_names_get_schemas_of_their_own() -> None:
    one, two = schema_of("a" * 99 + "1"), schema_of("a" * 99 + "2")
    assert one != two
    assert len(one) == len(two) == connector.LONGEST
    assert schema_of("shop") == "stepward_shop"


async def test_another_apps_schema_is_refused(database: Database) -> None:
    await database.opened("blog")
    error = await refusal(database.store("shop", f"{database.address}?schema=stepward_blog"))
    assert isinstance(error, StoreUnusable)
    assert "expected the app 'shop', found the store of 'blog'" in str(error)


@pytest.mark.parametrize("version", ["999", "two"])
async def test_a_newer_schema_is_refused(database: Database, version: str) -> None:
    await database.opened()
    await database.rows(f"update stepward_shop.meta set value = '{version}' where key = 'schema_version'")
    error = await refusal(database.store())
    assert isinstance(error, StoreUnusable)
    assert "upgrade this program" in str(error)


async def test_a_store_is_identified_by_its_address(database: Database) -> None:
    with pytest.raises(StoreUnavailable, match="expected a Stepward store, found none"):
        identify(database.address)
    await database.opened("shop")
    expected = Identity("shop", versions.newest(), versions.newest())
    assert identify(database.address) == expected
    await database.opened("blog")
    with pytest.raises(StoreUnusable, match=r"found stepward_blog, stepward_shop; choose with \?schema=NAME"):
        identify(database.address)
    assert identify(f"{database.address}?schema=stepward_shop") == expected
    with pytest.raises(StoreUnavailable, match="in the schema none"):
        identify(f"{database.address}?schema=none")


async def test_a_server_that_is_not_there_is_unavailable(database: Database) -> None:
    error = await refusal(database.store(address=f"postgresql://ada:canary@127.0.0.1:{free_port()}/shop"))
    assert isinstance(error, StoreUnavailable)
    assert "expected a server that answers" in str(error)


async def test_a_database_that_is_not_there_is_unusable(database: Database) -> None:
    error = await refusal(database.store(address=database.server.address("nowhere")))
    assert isinstance(error, StoreUnusable)
    assert "expected the database, found none of that name" in str(error)


async def test_a_refused_user_is_reported(database: Database) -> None:
    error = await refusal(database.store(address=database.server.address(database.name, "stranger:canary")))
    assert isinstance(error, StoreUnusable)
    assert "expected to be let in" in str(error)


async def test_a_wrong_password_is_reported(database: Database) -> None:
    await database.rows(f"create role {WITH_PASSWORD} login password 'right'")
    error = await refusal(database.store(address=database.server.address(database.name, f"{WITH_PASSWORD}:canary")))
    await database.rows(f"drop role {WITH_PASSWORD}")
    assert isinstance(error, StoreUnusable)
    assert "expected the right password" in str(error)


async def test_an_address_of_another_form_is_refused(database: Database) -> None:
    error = await refusal(database.store(address="postgresql://ada:canary@host/shop?sslmode=sometimes"))
    assert isinstance(error, StoreUnusable)
    assert "expected an address that PostgreSQL's driver takes" in str(error)


async def test_missing_rights_are_reported(database: Database) -> None:
    error = await refusal(database.store(address=await unprivileged(database)))
    assert isinstance(error, StoreUnusable)
    assert "found InsufficientPrivilegeError: permission denied for database" in str(error)
    assert "or CREATE on the database" in str(error)


async def test_a_schema_that_was_made_for_the_user_is_used(database: Database) -> None:
    address = await unprivileged(database)
    await database.rows(f"create schema stepward_shop authorization guest_{database.name}")
    await database.opened(address=address)


async def test_an_old_server_is_refused(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connector, "OLDEST", 99)
    error = await refusal(database.store())
    assert isinstance(error, StoreUnusable)
    assert "expected PostgreSQL 99 or newer, found" in str(error)


async def test_too_many_connections_are_reported(database: Database) -> None:
    await database.run(f"create role few login connection limit 0; grant create on database {database.name} to few")
    error = await refusal(database.store(address=database.server.address(database.name, "few")))
    await database.run(f"revoke create on database {database.name} from few; drop role few")
    assert isinstance(error, StoreUnavailable)
    assert "expected room for a connection" in str(error)


async def test_a_server_in_recovery_is_reported(standby: Server) -> None:
    database = Database(standby, "postgres")
    error = await refusal(database.store())
    assert isinstance(error, StoreUnavailable)
    assert "found none but standbys in recovery" in str(error)


async def test_of_several_hosts_the_primary_is_found(standby: Server, server: Server) -> None:
    hosts = f"127.0.0.1:{standby.port},127.0.0.1:{server.port}"
    database = Database(server, "postgres")
    store = await database.opened(address=f"postgresql://postgres@{hosts}/postgres")
    assert await listed(store) == []
    await database.close()
    await server.execute("drop schema stepward_shop cascade")
