"""A process of the application with all actors of some partitions: ``… worker PORT TRANSPORT p1,p2 STORE STORE``.

It writes a line to standard output once its actors have begun, and ends with its standard input.
"""

from __future__ import annotations

import asyncio
import signal
import sys

from torture.partitions.application import application


async def main(port: int, transport: str, partitions: list[str], stores: list[str]) -> None:
    """Run until SIGTERM, or the end of standard input."""
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, ended.set)
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    served = partitions if len(stores) > 1 else True
    async with application(stores, port, transport).running(supervisor_every="200ms", partitions=served):
        print("at work", flush=True)
        waits = [asyncio.ensure_future(ended.wait()), asyncio.ensure_future(reader.read())]
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), sys.argv[2], sys.argv[3].split(","), sys.argv[4:]))
