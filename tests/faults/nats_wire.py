"""A wire that knows messages of NATS: each may be lost, doubled or late on its own."""

from __future__ import annotations

import asyncio

from tests.faults.mischief import Mischief
from tests.faults.wires import Pump, Wire

END = b"\r\n"
SIZED = frozenset({b"PUB", b"HPUB", b"MSG", b"HMSG"})
QUEUES = b"stepward."
ACKNOWLEDGED = b"$JS.ACK."


class NatsWire(Wire):
    """Does mischief to what is published, delivered and acknowledged; everything else passes."""

    def __init__(self, server_port: int, mischief: Mischief) -> None:
        super().__init__(server_port)
        self._mischief = mischief

    def pumps(self) -> tuple[Pump, Pump]:
        return self._messages, self._messages

    async def _messages(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await reader.readline():
            words = line.split()
            if not words or words[0].upper() not in SIZED:
                await self.forward(writer, line)
                continue
            body = await reader.readexactly(int(words[-1]) + len(END))
            await self._pass(writer, _kind(words), line + body)

    async def _pass(self, writer: asyncio.StreamWriter, kind: str | None, message: bytes) -> None:
        for delay in (0.0,) if kind is None else self._mischief.delays(kind):
            if delay:
                self.forward_later(delay, writer, message)
            else:
                await self.forward(writer, message)


def _kind(words: list[bytes]) -> str | None:
    """What kind of message it is; None for what is let alone."""
    verb, subject = words[0].upper(), words[1]
    if verb.endswith(b"PUB"):
        kinds = {QUEUES: "publication", ACKNOWLEDGED: "acknowledgement"}
        return next((kind for start, kind in kinds.items() if subject.startswith(start)), None)
    return "delivery" if subject.startswith(QUEUES) and len(words) > 4 else None
