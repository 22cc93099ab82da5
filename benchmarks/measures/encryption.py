"""The CPU of a step with encrypted payloads beside that of a step with plain ones.

Ten-step tasks in one process, with the queues in it and in the store. Rounds with encryption and without alternate, and
each round's figures are compared with one another, so that both meet the same machine.
"""

from __future__ import annotations

import os
import time
from typing import Any

from benchmarks.application import make_app
from benchmarks.loads import STEPS, median, ratio, run_ten_steps
from benchmarks.store_locations import Place
from stepward import Encryption

ROUNDS = 9
TASKS = 1_500
WARM = 200
TRANSPORTS = ("local", "store")


async def encryption(place: Place, *, rounds: int = ROUNDS, tasks: int = TASKS) -> dict[str, float]:
    """By transport: CPU of a step with encryption as a multiple of that without, and both in microseconds."""
    keys = Encryption("bench", {"bench": os.urandom(32)})
    figures: dict[str, float] = {}
    for transport in TRANSPORTS:
        plain: list[float] = []
        sealed: list[float] = []
        for number in range(rounds):
            # Whichever comes first in a round would have the cooler machine.
            for is_sealed in (True, False) if number % 2 else (False, True):
                found = await _step_seconds(place, tasks, transport, encryption=keys if is_sealed else None)
                (sealed if is_sealed else plain).append(found)
        figures |= {
            f"{transport}_cpu": ratio(sealed, plain),
            f"{transport}_plain_us": 1e6 * median(plain),
            f"{transport}_encrypted_us": 1e6 * median(sealed),
        }
    return figures


async def _step_seconds(place: Place, tasks: int, transport: str, **settings: Any) -> float:
    """CPU seconds of a step of this process, on all its threads."""
    app = make_app(await place.fresh(), transport=transport, **settings)
    async with app.running(), app.client() as client:
        await run_ten_steps(client, min(WARM, tasks))
        began = time.process_time()
        await run_ten_steps(client, tasks)
        return (time.process_time() - began) / (tasks * STEPS)
