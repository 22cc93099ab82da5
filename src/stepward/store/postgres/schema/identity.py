"""The identity of the store in a database, read without changing or creating anything."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from stepward.errors import StoreUnavailable, StoreUnusable
from stepward.store.address import PostgresPlace
from stepward.store.contract import Identity, Server
from stepward.store.postgres.engine.connecting.connector import Connector
from stepward.store.postgres.engine.connection import Connection
from stepward.store.postgres.engine.error_translation import BROKEN, translated
from stepward.store.postgres.schema import versions
from stepward.store.postgres.server.inspection import inspect

T = TypeVar("T")


def read_identity(place: PostgresPlace) -> Identity:
    """The app and schema version of the one store of a database, or of the schema that the address names.

    Raises StoreUnavailable where there is none, StoreUnusable where there are several or a newer one.
    """
    return _run(_read(place))


def read_server(place: PostgresPlace) -> Server:
    """What the server of that store says of itself. Raises as ``read_identity`` does."""
    return _run(_read_server(place))


def read_missing(place: PostgresPlace) -> list[str]:
    """The SQL that brings that store to this program's schema, in parts. Raises as ``read_identity`` does."""
    return _run(_read_missing(place))


def on_only_schema(place: PostgresPlace, ask: Callable[[Connection], Awaitable[T]]) -> T:
    """What a question of that store's connection answers. Raises as ``read_identity`` does."""

    async def asking() -> T:
        return await _asked(place, place.schema or await _only_schema(place), ask)

    return _run(asking())


def _run(asking: Coroutine[Any, Any, T]) -> T:
    # A loop of its own, in a thread of its own: the caller may have a loop already.
    with ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(asyncio.run, asking).result()


async def _read_server(place: PostgresPlace) -> Server:
    return await inspect(place, place.schema or await _only_schema(place))


async def _read(place: PostgresPlace) -> Identity:
    name = place.schema or await _only_schema(place)
    return await _asked(place, name, lambda connection: _identity(connection, place))


async def _read_missing(place: PostgresPlace) -> list[str]:
    async def missing(connection: Connection) -> list[str]:
        stands = await versions.schema_state(connection, await _identity(connection, place))
        return [part.script(name) for part in versions.parts_after(stands)]

    name = place.schema or await _only_schema(place)
    return await _asked(place, name, missing)


async def _identity(connection: Connection, place: PostgresPlace) -> Identity:
    found = await versions.identity(connection, place.shown)
    if found is None:
        raise StoreUnavailable(
            f"store {place.shown}: expected a Stepward store in the schema {connection.schema}, found none; start its "
            "application first, or name another schema"
        )
    return found


async def _only_schema(place: PostgresPlace) -> str:
    rows = await _asked(place, "", lambda connection: connection.rows("schema.stores"))
    names = [str(row[0]) for row in rows]
    if not names:
        raise StoreUnavailable(
            f"store {place.shown}: expected a Stepward store, found none; start its application first, or name "
            "another database"
        )
    if len(names) > 1:
        raise StoreUnusable(
            f"store {place.shown}: expected the store of one app, found {', '.join(names)}; choose with ?schema=NAME"
        )
    return names[0]


async def _asked(place: PostgresPlace, name: str, ask: Callable[[Connection], Awaitable[T]]) -> T:
    connection = await Connector(place, name).connect({})
    try:
        return await ask(connection)
    except BROKEN as error:
        raise translated(error, place.shown) from error
    finally:
        await connection.close()
