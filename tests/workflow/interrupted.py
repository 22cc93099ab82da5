"""A process that interrupts itself while it drives a workflow: in the ``first`` signal or in the ``second`` one."""

from __future__ import annotations

import asyncio
import signal
import sys

from stepward.workflow.definition import workflow
from tests.workflow.play import Play


@workflow
async def interrupted() -> None:
    signal.raise_signal(signal.SIGINT)
    for _ in range(1000):
        pass


async def cancelled_first() -> None:
    try:
        signal.raise_signal(signal.SIGINT)
        await asyncio.sleep(1)
    except asyncio.CancelledError:
        print("cancelled")
    Play(interrupted)
    print("went on")


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        if sys.argv[1] == "first":
            Play(interrupted)
            print("went on")
        else:
            asyncio.run(cancelled_first())
    except KeyboardInterrupt:
        print("interrupted")
    if asyncio._get_running_loop() is not None:
        print("a loop is left behind")
