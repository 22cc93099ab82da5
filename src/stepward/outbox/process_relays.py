"""The relays of a process, beside its actors."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from stepward.client import Client
from stepward.clock import Environment
from stepward.events import Observers
from stepward.outbox.relay import Relay
from stepward.settings import Settings


@asynccontextmanager
async def relaying(
    outboxes: Sequence[str], client: Client, *, environment: Environment, observers: Observers, settings: Settings
) -> AsyncIterator[None]:
    """Carry these outboxes until the block ends."""
    relays = [
        Relay(
            client,
            outbox,
            environment=environment,
            observers=observers,
            poll=settings.poll,
            payload_bytes=settings.payload_bytes,
        )
        for outbox in outboxes
    ]
    async with client:
        running = [asyncio.get_running_loop().create_task(_run(relay)) for relay in relays]
        try:
            yield
        finally:
            for each in running:
                each.cancel()
            await asyncio.gather(*running, return_exceptions=True)


async def _run(relay: Relay) -> None:
    async with relay:
        await relay.run()
