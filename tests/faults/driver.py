"""A process of the application, in the roles that it reads from its input; it ends with its input."""

from __future__ import annotations

import asyncio
import logging
import os
import sys

from tests.crash.ledger import Ledger
from tests.faults.application import application


async def main(name: str, store: str, transport: str, complete_by: str, roles: list[str]) -> None:
    app = application(name, store, transport, Ledger(os.environ["CRASH_LEDGER"]), complete_by=float(complete_by))
    running = app.running(
        scheduler="scheduler" in roles, agents="agent" in roles, supervisor="supervisor" in roles, submission=False
    )
    async with running:
        print("ready", flush=True)
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    name, store, transport, complete_by, *roles = sys.argv[1:]
    asyncio.run(main(name, store, transport, complete_by, roles))
