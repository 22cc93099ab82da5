from __future__ import annotations

import time

import httpx
import pytest

from stepward import Client

MOST_SECONDS = 0.2
ROUNDS = 5


@pytest.mark.faults
async def test_pages_take_less_than_a_fifth_of_a_second(local: httpx.AsyncClient, client: Client) -> None:
    """The best of some rounds, in time of the processor: other tests share the machine."""
    task = await client.submit("many", 1_000, id="many-1")
    await task.result(timeout=120)
    found = {}
    for path in ("/", "/tasks", "/tasks/many-1", "/tasks/many-1?after=900"):
        taken = []
        for _ in range(ROUNDS):
            began = time.process_time()
            assert (await local.get(path)).status_code == 200
            taken.append(time.process_time() - began)
        found[path] = min(taken)
    print(found)
    assert {path: taken for path, taken in found.items() if taken > MOST_SECONDS} == {}
