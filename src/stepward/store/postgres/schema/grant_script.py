"""The SQL that makes a login of PostgreSQL fit for one kind of process, with no more privileges than its work needs."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence

from stepward.errors import Refused
from stepward.store.address import PostgresPlace
from stepward.store.postgres.engine.connection import Connection
from stepward.store.postgres.schema.identity import on_only_schema
from stepward.store.postgres.schema.required_privileges import LOGIN_PRIVILEGES, PRIVILEGES, LoginKind

LOGIN = re.compile(r"[a-z_][a-z0-9_]{0,62}")
"""Logins that need no quotes, so that none of them can be more than a name."""


MEMBERSHIPS = {
    LoginKind.SUPERVISOR: ("pg_monitor", "pg_signal_backend"),
    LoginKind.OPERATOR: ("pg_monitor",),
}
"""Roles of the server: how standbys are, and the end of sessions of Stepward's that stand still."""


def grants(kind: LoginKind, login: str, schema: str) -> list[str]:
    """The statements; they may run again after a migration. Raises Refused for a name that would need quotes."""
    if not LOGIN.fullmatch(login):
        raise Refused(
            f"LOGIN: expected 1 to 63 of a-z 0-9 _ that begin with a letter, found {login[:63]!r}; choose another"
        )
    make = (
        f"do $$ begin if not exists (select from pg_roles where rolname = '{login}') then "
        f"create role {login} login; end if; end $$"
    )
    memberships = [f"grant {', '.join(MEMBERSHIPS[kind])} to {login}"] if kind in MEMBERSHIPS else []
    tables = defaultdict[str, list[str]](list)
    for table, letters in LOGIN_PRIVILEGES[kind].items():
        tables[letters].append(f"{schema}.{table}")
    return [
        make,
        *memberships,
        f"grant usage on schema {schema} to {login}",
        f"revoke all on all tables in schema {schema} from {login}",
        *(
            f"grant {', '.join(PRIVILEGES[letter] for letter in letters)} on {', '.join(names)} to {login}"
            for letters, names in tables.items()
        ),
    ]


def script(place: PostgresPlace, kind: LoginKind, login: str, *, apply: bool) -> list[str]:
    """The statements for the store at that place, carried out in one transaction if wished.

    Raises StoreUnavailable where there is none, StoreUnusable where the login that asks may not grant.
    """

    async def done(connection: Connection) -> Sequence[str]:
        statements = grants(kind, login, connection.schema)
        if apply:
            await connection.run(f"begin; {'; '.join(statements)}; commit")
        return statements

    return list(on_only_schema(place, done))
