"""NATS from the outside: who leads the shop's stream, and a look at all that is published."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import nats
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError

from showcase.faults.traffic import Traffic

STREAM = "STEPWARD_orders"
ALL = "stepward.orders.>"
AGAIN_SECONDS = 0.05
ANSWER_SECONDS = 0.5
"""No server answers while there is no leader."""


@asynccontextmanager
async def looking(ports: Sequence[int], traffic: Traffic) -> AsyncIterator[Client]:
    """Have `traffic` note all that is published inside; with a connection that outlives a server."""

    async def note(message: Msg) -> None:
        traffic.note(message.data)

    client = await nats.connect(
        [f"nats://127.0.0.1:{port}" for port in ports],
        error_cb=_ignore,
        reconnect_time_wait=AGAIN_SECONDS,
        max_reconnect_attempts=-1,
    )
    try:
        await client.subscribe(ALL, cb=note)
        yield client
    finally:
        await client.close()


async def leader(client: Client) -> str:
    """The server that leads the stream; empty while there is none."""
    try:
        found = await client.jetstream(timeout=ANSWER_SECONDS).stream_info(STREAM)
    except (NatsError, TimeoutError):
        return ""
    return (found.cluster and found.cluster.leader) or ""


async def leader_after(client: Client, name: str) -> str:
    """Wait until another than that server leads the stream."""
    while True:
        found = await leader(client)
        if found not in ("", name):
            return found
        await asyncio.sleep(AGAIN_SECONDS)


async def _ignore(_error: Exception) -> None:
    """Ignores the error: the client reconnects by itself."""
