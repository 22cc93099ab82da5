"""A receiver of webhooks: a real socket that answers as configured."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field


@dataclass
class Received:
    line: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Receiver:
    port: int = 0
    answer: bytes = b"HTTP/1.1 204 No Content\r\n\r\n"
    received: list[Received] = field(default_factory=list)
    hung_up: asyncio.Event = field(default_factory=asyncio.Event)
    silent: bool = False
    endless: bool = False

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hooks/canary?a=1"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            self.received.append(await _read(reader))
            if self.silent:
                writer.write(b"HTTP/1.1 2")
                await writer.drain()
                await reader.read()
            else:
                writer.write(self.answer)
                await writer.drain()
                while self.endless:
                    writer.write(self.answer)
                    await writer.drain()
                    await asyncio.sleep(0)  # the reader is in this process, and faster: nothing would yield
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self.hung_up.set()
            writer.close()


@asynccontextmanager
async def receiving() -> AsyncIterator[Receiver]:
    receiver = Receiver()
    server = await asyncio.start_server(receiver.serve, "127.0.0.1", 0)
    receiver.port = server.sockets[0].getsockname()[1]
    async with server:
        yield receiver


async def _read(reader: asyncio.StreamReader) -> Received:
    head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:] if line)}
    return Received(head[0], headers, await reader.readexactly(int(headers.get("content-length", "0"))))
