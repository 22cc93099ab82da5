"""An application that follows its private response queue, and writes down each event before it asks for more.

With ``CRASH_READ=N`` it dies after the Nth event: that one is written down, and neither it nor what was given with
it need be settled yet.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import TextIO

import msgspec

from stepward import Queues, StatusEvent

NEW_LIFE = "{}"
"""The line with which each life of the reader begins."""


async def main(store: str, queue: str, path: str) -> None:
    left = int(os.environ.get("CRASH_READ", "0"))
    with Path(path).open("a") as journal:
        _write(journal, NEW_LIFE)
        async with Queues(store, app="crash") as queues:
            print("ready", flush=True)
            async for event in queues.events(queue):
                _write(journal, _line(event))
                left -= 1
                if left == 0:
                    os._exit(137)


def _line(event: StatusEvent) -> str:
    return msgspec.json.encode(event).decode()


def _write(journal: TextIO, line: str) -> None:
    journal.write(f"{line}\n")
    journal.flush()
    os.fsync(journal.fileno())


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
