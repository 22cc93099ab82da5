"""A broker's queues small enough to be right at a glance."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from stepward.errors import PayloadTooLarge, TransportError
from stepward.transport.queues.response_log import unpacked


class Outlet:
    """Takes what is carried, or does as planned."""

    def __init__(self) -> None:
        self.messages: list[tuple[str, list[bytes]]] = []
        self.ids: list[str] = []
        self.is_down = False
        self.refused: set[bytes] = set()
        self.refusals = 0
        self.before: Callable[[], None] = lambda: None
        self.seconds = 0.0

    async def carry(self, queue: str, body: bytes, id: str) -> None:
        self.before()
        await asyncio.sleep(self.seconds)
        if self.is_down:
            raise TransportError("queue: expected NATS to answer, found no answer")
        if any(event in body for event in self.refused):
            self.refusals += 1
            raise PayloadTooLarge("queue: expected at most 9 bytes, found 10")
        self.messages.append((queue, unpacked(body)))
        self.ids.append(id)

    def told(self, queue: str) -> list[bytes]:
        return [event for of, events in self.messages if of == queue for event in events]
