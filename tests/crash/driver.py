"""A process of the application, in the roles given as arguments; it obeys lines on its input, and ends with it.

``submit WORKFLOW[:TROUBLE] ID`` submits a task through this process, so that its own Scheduler has it born claimed.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Callable

from stepward import Client
from stepward.submission import submitter
from tests.crash.application import LEASE, application, submit


class StopAtFailpoint:
    """Stops the process, as a pause of its machine would, when it passes the failpoint for the nth time."""

    def __init__(self, text: str) -> None:
        self._name, _, nth = text.partition(":")
        self._left = int(nth or 1)

    def __call__(self, name: str) -> None:
        if name == self._name:
            self._left -= 1
            if self._left == 0:
                print("stopping", flush=True)
                os.kill(os.getpid(), signal.SIGSTOP)


class DieOnTheWay:
    """Ends the process, as ``kill -9`` would, when it has passed these failpoints one after the other."""

    def __init__(self, way: str) -> None:
        self._ahead = way.split(">")

    def __call__(self, name: str) -> None:
        if name == self._ahead[0]:
            self._ahead.pop(0)
            if not self._ahead:
                os._exit(137)


def failpoint() -> Callable[[str], None] | None:
    stop, way = os.environ.get("CRASH_STOP"), os.environ.get("CRASH_WAY")
    if way:
        return DieOnTheWay(way)
    return StopAtFailpoint(stop) if stop else None


async def main(store: str, transport: str, roles: list[str]) -> None:
    app = application(store, transport, failpoint())
    over = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, over.set)
    running = app.running(
        scheduler="scheduler" in roles,
        agents="agent" in roles,
        supervisor="supervisor" in roles,
        submission="submission" in roles,
    )
    async with running, app.client() as client:
        print("ready", flush=True)
        obeying = asyncio.create_task(obey(client, over))
        await over.wait()
        obeying.cancel()
    print("stopped", flush=True)


async def obey(client: Client, over: asyncio.Event) -> None:
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        _, workflow, id = line.decode().split()
        await submit(client, workflow, id)
        print(f"submitted {id}", flush=True)
    over.set()


if __name__ == "__main__":
    # A minute is longer than a test may wait for messages of the dead.
    submitter.LEASE = LEASE
    logging.basicConfig(level=logging.INFO)
    asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3:]))
