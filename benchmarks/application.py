"""The application that is measured: trivial operations, so that what is measured is Stepward."""

from __future__ import annotations

import asyncio
import os
from typing import Any

from stepward import Agent, App, step, wait_for, workflow

service = Agent("svc", concurrency=20_000)


@service.operation()
async def act(text: str, n: int) -> dict[str, object]:
    return {"ok": True, "n": n}


@step(complete_by="10m")
async def hold(n: int) -> int:
    """Never ends in the process that is going to be killed; beside its Scheduler, so that an heir begins it at once."""
    if os.environ.get("BENCH_HOLD"):
        await asyncio.Event().wait()
    return n


@workflow()
async def one(text: str) -> dict[str, object]:
    return await act(text, 1)


@workflow()
async def two(text: str) -> int:
    await act(text, 1)
    await act(text, 2)
    return 2


@workflow()
async def ten(text: str) -> int:
    total = 0
    for n in range(10):
        await act(text, n)
        total += n
    return total


@workflow()
async def half(n: int) -> int:
    await act("first", n)
    return await hold(n)


@workflow()
async def waiting(n: int) -> int:
    return int(await wait_for("go"))


def make_app(address: str, **settings: Any) -> App:
    """The application on the store of that address."""
    return App("bench", workflows=[one, two, ten, half, waiting], agents=[service], store=address, **settings)
