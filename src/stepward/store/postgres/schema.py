"""Whose schema it is, and the way from older tables to today's: numbered migrations, forward only."""

from __future__ import annotations

import re
from functools import cache
from hashlib import sha256
from importlib.resources import files

from stepward.errors import StoreUnusable
from stepward.store.contract import Identity
from stepward.store.postgres.book import quoted
from stepward.store.postgres.connection import Connection

MIGRATION = re.compile(r"(\d{4})_\w+\.sql")
MIGRATION_SECONDS = 3600.0
"""For one migration of a large store; others who open it meanwhile wait a minute, and say so."""
PREFIX = "stepward_"
LONGEST = 63
"""Bytes that PostgreSQL keeps of a name."""


def schema_of(app: str) -> str:
    """The schema that goes by the application's name; a name too long keeps its beginning, and a hash of it all."""
    name = f"{PREFIX}{app}"
    if len(name) <= LONGEST:
        return name
    return f"{name[: LONGEST - 9]}_{sha256(app.encode()).hexdigest()[:8]}"


async def is_current(connection: Connection, app: str, place: str) -> bool:
    """Whether no migration is missing; refuses the store of another application or a newer program."""
    return await _version(connection, app, place) == newest()


async def migrate(connection: Connection, app: str, place: str) -> None:
    """Within a transaction: apply what is missing; any number of processes may do so at once, one after the other.

    Programs of the version before go on working meanwhile: a migration only adds.
    """
    await connection.row("schema.lock", connection.schema)
    await connection.run("set local statement_timeout = 0")
    if await connection.row("schema.find_schema", connection.schema) is None:
        await connection.run(f"create schema {quoted(connection.schema)}")
    version = await _version(connection, app, place)
    for number, text in migrations():
        if number > version:
            await connection.run(text.replace("{schema}", quoted(connection.schema)), MIGRATION_SECONDS)
            await connection.change("schema.write_meta", "app", app)
            await connection.change("schema.write_meta", "schema_version", str(number))


async def identity(connection: Connection, place: str) -> Identity | None:
    """Whose store the schema holds; None if it holds none. Raises StoreUnusable for that of a newer program."""
    if await connection.row("schema.find_meta", connection.schema) is None:
        return None
    meta = dict(map(tuple, await connection.rows("schema.read_meta")))
    app, version = meta.get("app", ""), meta.get("schema_version", "")
    if not version.isdecimal() or int(version) > newest():
        raise StoreUnusable(
            f"store {place}: expected schema version {newest()} or older, found {version}; upgrade this program"
        )
    return Identity(app, int(version), newest())


@cache
def migrations() -> list[tuple[int, str]]:
    """The numbered migrations in order."""
    folder = files("stepward.store") / "migrations" / "postgres"
    found = ((MIGRATION.fullmatch(file.name), file) for file in folder.iterdir())
    return sorted((int(match[1]), file.read_text(encoding="utf-8")) for match, file in found if match)


def newest() -> int:
    """The newest schema that this program knows."""
    return migrations()[-1][0]


async def _version(connection: Connection, app: str, place: str) -> int:
    found = await identity(connection, place)
    if found is None:
        return 0
    if found.app != app:
        raise StoreUnusable(
            f"store {place}: expected the app {app!r}, found the store of {found.app!r}; name another schema or app"
        )
    return found.schema_version
