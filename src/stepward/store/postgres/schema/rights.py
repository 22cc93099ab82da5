"""Which rights on the tables each kind of process needs, and whether it has them.

``docs/deployment.md`` has them as SQL; a test holds the two equal.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from stepward.errors import StoreUnusable
from stepward.model.records import Role
from stepward.store.postgres.engine.connection import Connection

PRIVILEGES = {"s": "select", "i": "insert", "u": "update", "d": "delete"}
QUEUES = {"message": "siud", "dead_letter": "si"}
"""Where the queues are a broker's these are needed all the same: dead letters and events are rows of the store."""

RIGHTS: Mapping[Role, Mapping[str, str]] = {
    Role.SCHEDULER: {
        **QUEUES,
        "flow_limit": "siud",
        "task_permit": "siud",
        "rate_bucket": "siud",
        "meta": "si",
        "task": "siu",
        "step": "siud",
        "inbox": "sid",
        "signal_seen": "sid",
        "live_value": "siu",
        "stream_value": "si",
        "update_request": "siud",
        "workflow": "siu",
        "schedule": "siu",
        "instance": "siu",
        "agent": "siu",
        "leadership": "su",
        "alert": "siu",
        "audit": "si",
    },
    Role.AGENT: {
        **QUEUES,
        "flow_limit": "siud",
        "agent_slot": "siud",
        "meta": "si",
        "instance": "siu",
        "agent": "siu",
        "alert": "siu",
        "audit": "si",
    },
    Role.SUBMISSION: {
        **QUEUES,
        "meta": "si",
        "task": "si",
        "step": "si",
        "workflow": "siu",
        "schedule": "siu",
        "instance": "siu",
        "alert": "siu",
        "audit": "si",
    },
    Role.SUPERVISOR: {
        "meta": "siud",
        "task": "siud",
        "step": "siud",
        "inbox": "sid",
        "signal_seen": "sd",
        "live_value": "sd",
        "stream_value": "sd",
        "update_request": "sd",
        "message": "sid",
        "dead_letter": "sd",
        "workflow": "s",
        "schedule": "su",
        "instance": "siud",
        "agent": "s",
        "leadership": "su",
        "alert": "siud",
        "alert_receipt": "siud",
        "alert_sink": "sid",
        "alert_silence": "s",
        "audit": "siud",
        "batch": "su",
        "state_sample": "sid",
        "search": "s",
        "agent_slot": "sud",
    },
}


async def check(connection: Connection, roles: Iterable[Role], place: str) -> None:
    """Raises StoreUnusable if the user lacks a right that an instance of these roles needs; it names each."""
    needed = {(table, letter) for role in roles for table, letters in RIGHTS[role].items() for letter in letters}
    tables = sorted(needed)
    found = await connection.rows(
        "rights.missing", connection.schema, [table for table, _ in tables], [PRIVILEGES[each] for _, each in tables]
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
    owner, may, user = await connection.row("rights.owner", connection.schema) or ("", True, "")
    if not may:
        raise StoreUnusable(
            f"store {place}: expected schema version {newest}, found {version}, which the user {user} may not change; "
            f"run `stepward migrate` as {owner} first"
        )
