"""Virtual time passes for whatever waits, however short it waits."""

from __future__ import annotations

import asyncio

from stepward.testing.virtual_time import VirtualTime

MOST = 100


def test_a_wait_for_less_than_a_microsecond_ends_beside_work_that_is_always_made_ready() -> None:
    """Each of its looks is a change, after which others are let go on before time advances."""
    loop = asyncio.SelectorEventLoop()
    looks = [0]

    def idle() -> float | None:
        looks[0], looked = 0, looks[0]
        return 0.0 if looked else None

    async def wait() -> int:
        until, count = time.now() + 5e-7, 0
        while (left := until - time.now()) > 0 and count < MOST:
            count += 1
            looks[0] = count
            await asyncio.sleep(left)
        return count

    time = VirtualTime(loop, lambda: None)
    with time.leaping(idle):
        assert loop.run_until_complete(wait()) == 1
    loop.close()
