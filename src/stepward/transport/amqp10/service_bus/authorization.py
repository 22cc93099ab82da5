"""The tokens of one connection: put at ``$cbs`` for each entity before its first link, and again before they expire."""

from __future__ import annotations

import asyncio

from stepward.clock import Clock
from stepward.errors import TransportError
from stepward.transport.amqp10.protocol.connection import AmqpConnection
from stepward.transport.amqp10.protocol.faults import AmqpFault
from stepward.transport.amqp10.protocol.management import ManagementNode
from stepward.transport.amqp10.service_bus.tokens import TokenSource

NODE = "$cbs"
LEFT_SECONDS = 60.0
"""A token with less left is put again first."""
RENEWED_SHARE = 2 / 3
SHORTEST_SECONDS = 5.0
FIRST_RETRY, LONGEST_RETRY = 1.0, 30.0
"""Seconds until a token that could not be put is put again: twice as long each time."""


class Authorization:
    """Callable with an address; ``host`` is the namespace."""

    def __init__(self, line: AmqpConnection, host: str, tokens: TokenSource, clock: Clock) -> None:
        self._line = line
        self._host = host
        self._tokens = tokens
        self._clock = clock
        self._node = ManagementNode(line, NODE)
        self._expires_at: dict[str, float] = {}
        self._putting = asyncio.Lock()
        self._renewals: dict[str, asyncio.Task[None]] = {}

    async def __call__(self, address: str) -> None:
        """Ensure that the broker has a token for the entity of that address. Raises AmqpFault or TransportError."""
        entity = address.partition("/$")[0]
        if entity == NODE:
            return
        async with self._putting:
            if self._expires_at.get(entity, 0.0) - self._clock.wall() < LEFT_SECONDS:
                await self._put(entity)

    def close(self) -> None:
        """Renew no tokens."""
        for task in self._renewals.values():
            task.cancel()

    async def _put(self, entity: str) -> None:
        audience = f"sb://{self._host}/{entity}"
        token = await self._tokens.token(audience)
        await self._node.call("put-token", token.text, {"type": token.kind, "name": audience})
        self._expires_at[entity] = token.expires_at
        seconds = max(SHORTEST_SECONDS, (token.expires_at - self._clock.wall()) * RENEWED_SHARE)
        renewal = self._renewals.get(entity)
        if renewal is not None and renewal is not asyncio.current_task():
            renewal.cancel()
        self._renewals[entity] = asyncio.get_running_loop().create_task(self._renew(entity, seconds))

    async def _renew(self, entity: str, seconds: float) -> None:
        """Put the token again, and try until it has expired: then the broker ends the links of the entity, and opening
        them puts one again."""
        await asyncio.sleep(seconds)
        pause = FIRST_RETRY
        while self._line.why is None:
            try:
                async with self._putting:
                    await self._put(entity)
            except (AmqpFault, TransportError, TimeoutError):
                if self._clock.wall() >= self._expires_at[entity]:
                    return
                await asyncio.sleep(pause)
                pause = min(2 * pause, LONGEST_RETRY)
            else:
                return
