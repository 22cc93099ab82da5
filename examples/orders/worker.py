"""`python -m examples.orders.worker scheduler|agents|supervisor`: run one kind of actor until told to stop."""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
from contextlib import suppress

from examples.orders.app import app

SIGNALS = (signal.SIGTERM, signal.SIGINT)


def main() -> None:
    """Read the command line and work."""
    parser = argparse.ArgumentParser(prog="python -m examples.orders.worker", description=__doc__)
    parser.add_argument("role", choices=["scheduler", "agents", "supervisor"])
    parser.add_argument("--only", nargs="+", metavar="AGENT", help="which Agents to run; all unless given")
    parser.add_argument("--tethered", action="store_true", help="end when standard input is closed")
    arguments = parser.parse_args()
    asyncio.run(_work(arguments.role, arguments.only, is_tethered=arguments.tethered))


async def _work(role: str, only: list[str] | None, *, is_tethered: bool) -> None:
    agents = (only or True) if role == "agents" else False
    stopped = asyncio.create_task(_told_to_stop(is_tethered=is_tethered))
    async with app.running(scheduler=role == "scheduler", agents=agents, supervisor=role == "supervisor") as running:
        print(f"{role} ready", flush=True)
        broken = asyncio.create_task(running.wait())
        await asyncio.wait([stopped, broken], return_when=asyncio.FIRST_COMPLETED)
        if broken.done():
            broken.result()
        broken.cancel()
        with suppress(asyncio.CancelledError):
            await broken


async def _told_to_stop(*, is_tethered: bool) -> None:
    loop = asyncio.get_running_loop()
    told = asyncio.Event()
    for number in SIGNALS:
        loop.add_signal_handler(number, told.set)
    if is_tethered:
        loop.add_reader(sys.stdin.fileno(), _read_on, told)
    await told.wait()


def _read_on(told: asyncio.Event) -> None:
    if not os.read(sys.stdin.fileno(), 1024):
        asyncio.get_running_loop().remove_reader(sys.stdin.fileno())
        told.set()


if __name__ == "__main__":
    main()
