"""The gauges of a store for metrics."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec
from msgspec import Struct

from stepward.model.agents import AgentStanding
from stepward.model.records import Instance
from stepward.store import rows
from stepward.store.contract import StoreGauges
from stepward.store.verbs import breakers_and_suspensions
from stepward.store.verbs.connection import VerbConnection, VerbRow

LONGEST_HEAD = 64 * 1024
"""Bytes of a message beyond which its body is not read."""
MOST_COUNTED = 100_000
"""The bound at which each count stops."""


async def read(connection: VerbConnection, now: float, dead_since: float) -> StoreGauges:
    """The gauges at ``now``; instances that died before ``dead_since`` are left out."""
    found = await connection.rows("gauges.read", now, MOST_COUNTED)
    instances = [rows.instance(row) for row in await connection.rows("client.instances", dead_since)]
    heads = await connection.rows("gauges.heads", LONGEST_HEAD)
    return store_gauges(found, heads, now, instances, await breakers_and_suspensions.standings(connection))


def store_gauges(
    found: Sequence[VerbRow],
    heads: Sequence[VerbRow],
    now: float,
    instances: list[Instance],
    standings: list[AgentStanding],
) -> StoreGauges:
    """The gauges from rows of kind, name and value, and the next message of each queue."""
    kinds: dict[str, dict[str, float]] = defaultdict(dict)
    for kind, name, value in found:
        if value is not None:
            kinds[kind][name] = value
    return StoreGauges(
        now=now,
        tasks=_counts(kinds["tasks"]),
        oldest_tasks={state: max(0.0, now - created_at) for state, created_at in kinds["oldest_task"].items()},
        alerts=_counts(kinds["alerts"]),
        dead_letters=int(kinds["dead_letters"].get("", 0)),
        expired_steps=int(kinds["expired_steps"].get("", 0)),
        queues=_counts(kinds["queue"]),
        queue_ages={queue: max(0.0, now - at) for queue, body in heads if (at := posted_at(body)) is not None},
        oldest_requests={agent: max(0.0, now - started_at) for agent, started_at in kinds["request"].items()},
        has_leader=bool(kinds["leader"]),
        schema_version=int(kinds["schema_version"].get("", 0)),
        instances=instances,
        standings=standings,
    )


class PostedMessage(Struct):
    """What of a message of an application tells when it was posted."""

    time: Any = None


def posted_at(body: bytes | None) -> float | None:
    """The instant of a CloudEvent; None for another message, or one without it."""
    try:
        time = msgspec.convert(msgspec.json.decode(body or b"", type=PostedMessage).time, datetime)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    return None if time.tzinfo is None else time.timestamp()


def _counts(named: dict[str, float]) -> dict[str, int]:
    return {name: int(value) for name, value in named.items()}
