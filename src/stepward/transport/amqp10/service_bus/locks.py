"""Locks of Azure Service Bus, which end unless they are renewed: of a message, and of a session."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from uuid import UUID

from proton import Array, Data, symbol

from stepward.clock import Clock
from stepward.errors import QueueRefused
from stepward.transport.amqp10.node_addresses import Place
from stepward.transport.amqp10.protocol.connection import AmqpConnection
from stepward.transport.amqp10.protocol.faults import AmqpFault
from stepward.transport.amqp10.protocol.links import Received, ReceivingLink
from stepward.transport.amqp10.protocol.management import ManagementNode

LOCKED_UNTIL = symbol("com.microsoft:locked-until-utc")
TICKS = 10_000_000
TICKS_AT_1970 = 621_355_968_000_000_000
"""Instants of .NET count tenths of a microsecond since the year 1."""
TOLERANCE_SECONDS = 1.0
"""For clocks that differ, and for the way of the message."""
SHORTEST_SECONDS = 0.2


class Locks:
    """The locks of one queue over one connection."""

    def __init__(self, line: AmqpConnection, queue: str, place: Place, clock: Clock) -> None:
        self._queue = queue
        self._place = place
        self._clock = clock
        self._node = ManagementNode(line, f"{place.address}/$management")
        self._keeping: asyncio.Task[None] | None = None

    async def renew(self, received: Sequence[Received]) -> None:
        """Renew the locks of messages; those of a session are locked with it. Raises AmqpFault if all are lost."""
        tokens = [UUID(bytes_le=each.tag) for each in received if each.link.why is None]
        if self._place.group is not None or not tokens:
            return
        try:
            await self._renew(tokens)
        except AmqpFault:
            # One that is lost, as after a pause of the process, would let those of all later messages end.
            alone = await asyncio.gather(*(self._renew([token]) for token in tokens), return_exceptions=True)
            if all(isinstance(each, Exception) for each in alone):
                raise

    def keep(self, link: ReceivingLink, lease: float) -> None:
        """Renew the lock of the link's session until the link ends. Raises QueueRefused for too short a lock."""
        ticks = link.properties.get(LOCKED_UNTIL)
        if self._place.group is None or ticks is None:
            return
        seconds = (int(ticks) - TICKS_AT_1970) / TICKS - self._clock.wall()
        self._check(seconds, lease)
        self._keeping = asyncio.get_running_loop().create_task(self._keep(link, max(SHORTEST_SECONDS, seconds / 3)))

    def check(self, received: Received, lease: float) -> None:
        """Raises QueueRefused for a lock that is shorter than the lease of its message."""
        until = received.message.locked_until
        if until is not None:
            self._check(until - self._clock.wall(), lease)

    def close(self) -> None:
        """Renew nothing any more."""
        if self._keeping is not None:
            self._keeping.cancel()

    async def _renew(self, tokens: Sequence[UUID]) -> None:
        await self._node.call("com.microsoft:renew-lock", {"lock-tokens": Array(None, Data.UUID, *tokens)})

    async def _keep(self, link: ReceivingLink, seconds: float) -> None:
        while link.why is None:
            await asyncio.sleep(seconds)
            try:
                await self._node.call("com.microsoft:renew-session-lock", {"session-id": self._place.group})
            except (AmqpFault, TimeoutError):
                # Another process may have the session now.
                with contextlib.suppress(AmqpFault):
                    link.close()

    def _check(self, seconds: float, lease: float) -> None:
        if seconds + TOLERANCE_SECONDS < lease:
            raise QueueRefused(
                f"queue {self._queue}: expected locks of at least {lease:g} s, the lease, at {self._place.address}, "
                f"found {max(seconds, 0):.0f} s; set its lock duration to 30 s",
                reason="its locks are shorter than the lease",
            )
