"""A process whose transactional steps it may not survive."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from typing import Any

from stepward import App, step, workflow


@step(transaction=True)
async def enter(transaction: Any, what: str) -> str:
    await transaction.execute("insert into public.ledger values ($1)", [what])
    if what == "second" and os.environ.get("INSIDE") == "inside":
        os.kill(os.getpid(), signal.SIGKILL)
    return what


@workflow
async def booking() -> list[str]:
    return [await enter(what) for what in ("first", "second", "third")]


def steps_app(store: str) -> App:
    return App("shop", workflows=[booking], store=store, poll="100ms", supervisor_every="50ms", lease="1s")


async def main(store: str) -> None:
    async with steps_app(store).running() as running:
        await running.wait()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
