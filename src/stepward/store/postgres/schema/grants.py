"""The SQL that makes a login of PostgreSQL fit for one kind of process, with no more rights than its work needs."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from enum import StrEnum

from stepward.errors import Refused
from stepward.model.records import Role
from stepward.store.address import PostgresPlace
from stepward.store.postgres.engine.connection import Connection
from stepward.store.postgres.schema.identity import on_only_schema
from stepward.store.postgres.schema.rights import PRIVILEGES, RIGHTS

LOGIN = re.compile(r"[a-z_][a-z0-9_]{0,62}")
"""Logins that need no quotes, so that none of them can be more than a name."""


class LoginKind(StrEnum):
    """What a login is for."""

    SCHEDULER = "scheduler"
    AGENT = "agent"
    SUBMISSION = "submission"
    SUPERVISOR = "supervisor"
    CLIENT = "client"
    """An application: it submits, reads, waits and signals, and reads its response queues."""
    OPERATOR = "operator"
    """The command line, the HTTP API and the console."""
    READ_ONLY = "read-only"
    """Looks at everything but the hashes of tokens."""


_CLIENT = {
    **dict.fromkeys(("meta", "workflow", "instance", "search", "live_value", "stream_value"), "s"),
    **dict.fromkeys(("step", "inbox", "signal_seen", "audit", "update_request"), "si"),
    **dict.fromkeys(("task", "alert"), "siu"),
    "message": "siud",
}
_ALL = (*RIGHTS[Role.SCHEDULER], "alert_receipt", "alert_sink", "alert_silence", "state_sample", "agent_slot")
KINDS: Mapping[LoginKind, Mapping[str, str]] = {
    **{LoginKind(role.value): rights for role, rights in RIGHTS.items()},
    LoginKind.CLIENT: _CLIENT,
    LoginKind.OPERATOR: {**dict.fromkeys((*_ALL, "batch", "credential"), "siud"), "search": "s"},
    LoginKind.READ_ONLY: dict.fromkeys((*_ALL, "batch", "search"), "s"),
}
"""By kind, the privileges on each table."""
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
    for table, letters in KINDS[kind].items():
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
