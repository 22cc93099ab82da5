"""The application that is measured: trivial operations, so that what is measured is Stepward."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

from stepward import Agent, App, wait_for, workflow

service = Agent("svc", concurrency=20_000)


@service.operation()
async def act(text: str, n: int) -> dict[str, object]:
    return {"ok": True, "n": n}


@service.operation(complete_by="10m")
async def hold(n: int) -> int:
    """Never answers in the process that is going to be killed."""
    if os.environ.get("BENCH_HOLD"):
        await asyncio.Event().wait()
    return n


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


def make_app(path: Path, **settings: Any) -> App:
    """The application on a store of its own."""
    return App("bench", workflows=[ten, half, waiting], agents=[service], store=f"sqlite:///{path}", **settings)
