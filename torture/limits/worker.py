"""A process of the application with all actors: ``python -m torture.limits.worker STORE TRANSPORT PORT``.

It ends with its standard input.
"""

from __future__ import annotations

import asyncio
import signal
import sys

from torture.limits.application import application


async def main(store: str, transport: str, port: int) -> None:
    """Run until SIGTERM, or the end of standard input."""
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, ended.set)
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    async with application(store, transport, port).running(supervisor_every="200ms"):
        print("ready", flush=True)
        waits = [asyncio.ensure_future(ended.wait()), asyncio.ensure_future(reader.read())]
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
