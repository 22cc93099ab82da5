"""A process that only runs the relay of an outbox; it can be set to die on the way."""

from __future__ import annotations

import asyncio
import sys

from tests.transactions.application import application


async def main(store: str, outbox: str) -> None:
    app = application(store)
    app.relay(outbox)
    async with app.running(scheduler=False, supervisor=False):
        print("ready", flush=True)
        await asyncio.get_running_loop().create_future()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
