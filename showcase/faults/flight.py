"""Orders in flight: so many that a process that is hit then leaves work behind."""

from __future__ import annotations

from showcase.proof.words import count
from showcase.waiting import Waits
from stepward import Client

MOST_LISTED = 1000


async def in_flight(client: Client, waits: Waits, enough: int) -> frozenset[str]:
    """The orders that have not ended, once there are so many of them."""

    async def look() -> frozenset[str]:
        tasks = await client.tasks(limit=MOST_LISTED)
        held = frozenset(task.id for task in tasks if task.finished_at is None)
        return held if len(held) >= enough else frozenset()

    return await waits.until(f"{count(enough, 'order')} in flight", look)
