"""Orders at a steady rate, submitted by a client that another replaces when a store is added, or posted to a broker."""

from __future__ import annotations

import asyncio
from itertools import count

from stepward import Client, Queues
from stepward.errors import CommitUnknown, StoreUnavailable, TransportError
from torture.partitions.application import ORDERS

EVERY = 0.1
"""Seconds between two orders."""
AGAIN_SECONDS = 1.0
"""Seconds before an order that was refused is submitted again."""


class OrderLoad:
    """Orders; one that is refused is submitted again under its id, and holds no other back.

    With ``queues`` of a broker every second one is posted there.
    """

    def __init__(self, client: Client, queues: Queues | None) -> None:
        self._queues = queues
        self.client = client
        """The client of the newest list of stores."""
        self.orders: set[str] = set()
        self.refused = 0
        self._is_over = asyncio.Event()

    def stop(self) -> None:
        """Submit no further order."""
        self._is_over.set()

    async def run(self) -> None:
        """Submit until stopped; returns once every order is accepted."""
        async with asyncio.TaskGroup() as group:
            for number in count(1):
                if self._is_over.is_set():
                    return
                self.orders.add(order := f"order-{number}")
                is_posted = self._queues is not None and number % 2 == 0
                group.create_task(self._submit(order, self._queues if is_posted else None))
                await asyncio.sleep(EVERY)

    async def _submit(self, order: str, queues: Queues | None) -> None:
        while True:
            try:
                if queues is None:
                    await self.client.submit("fulfil", order, id=order)
                else:
                    await queues.post(ORDERS, None, id=order)
                return
            except (StoreUnavailable, CommitUnknown, TransportError):
                self.refused += 1
                await asyncio.sleep(AGAIN_SECONDS)
