"""Checks at start that the user of a process has the privileges on tables that its actors need."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from stepward.errors import StoreUnusable
from stepward.model.records import Role
from stepward.store.postgres.engine.connection import Connection
from stepward.store.postgres.schema.required_privileges import PRIVILEGES, PROCESS_PRIVILEGES


async def check(connection: Connection, roles: Iterable[Role], place: str) -> None:
    """Raises StoreUnusable if the user lacks a privilege that an instance of these roles needs; it names each."""
    needed = {
        (table, letter) for role in roles for table, letters in PROCESS_PRIVILEGES[role].items() for letter in letters
    }
    tables = sorted(needed)
    found = await connection.rows(
        "table_privileges.missing",
        connection.schema,
        [table for table, _ in tables],
        [PRIVILEGES[each] for _, each in tables],
    )
    if not found:
        return
    lacks = defaultdict[str, list[str]](list)
    for table, privilege, _ in found:
        lacks[table].append(privilege)
    user = found[0][2]
    kinds = " and ".join(sorted(roles))
    named = "; ".join(f"{', '.join(privileges)} on {table}" for table, privileges in lacks.items())
    raise StoreUnusable(
        f"store {place}: expected the rights of {kinds} for the user {user} in the schema {connection.schema}, found "
        f"some missing: {named}; grant them, and usage on the schema, as docs/deployment.md shows"
    )


async def check_owner(connection: Connection, version: int, newest: int, place: str) -> None:
    """Raises StoreUnusable if the user may not change the tables of an older store."""
    owner, may, user = await connection.row("table_privileges.owner", connection.schema) or ("", True, "")
    if not may:
        raise StoreUnusable(
            f"store {place}: expected schema version {newest}, found {version}, which the user {user} may not change; "
            f"run `stepward migrate` as {owner} first"
        )
