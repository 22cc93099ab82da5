"""A wire that knows what is published to RabbitMQ: each message may be lost, doubled or late on its own.

The server counts what reaches it, and confirms it by that count; the client counts what it sent. So confirmations are
translated, and what is lost is confirmed all the same: that is the worst that a broker can do.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Iterator
from typing import NamedTuple

from tests.faults.mischief import Mischief
from tests.faults.wires import Pump, Wire

HEADER = struct.Struct(">BHI")
GREETING = 8
METHOD, CONTENT_HEADER = 1, 2
PUBLISH, ACK, NACK = (60, 40), (60, 80), (60, 120)
KINDS = {b".agents.": "request", b".replies.": "reply"}
TAG = struct.Struct(">HHQB")


class Frame(NamedTuple):
    kind: int
    channel: int
    payload: bytes
    whole: bytes

    @property
    def method(self) -> tuple[int, int] | None:
        if self.kind != METHOD:
            return None
        family, number = struct.unpack_from(">HH", self.payload)
        return family, number


class Count:
    """What became of the messages of one channel."""

    def __init__(self) -> None:
        self.sent = 0
        """By the client's count."""
        self.arrived = 0
        """By the server's."""
        self.open: dict[int, int | None] = {}
        """The client's number of what the server has not confirmed yet, by the server's; None for a double."""

    def confirmed(self, tag: int, multiple: bool) -> Iterator[int]:
        """The client's numbers of what the server confirms with this."""
        for number in [each for each in self.open if each == tag or (multiple and each <= tag)]:
            sent = self.open.pop(number)
            if sent is not None:
                yield sent


class AmqpWire(Wire):
    """Does mischief to requests and replies that are published; everything else passes."""

    def __init__(self, server_port: int, mischief: Mischief) -> None:
        super().__init__(server_port)
        self._mischief = mischief
        self.bodies: list[bytes] = []
        """Of what passed."""

    def pumps(self) -> tuple[Pump, Pump]:
        connection = _Connection(self, self._mischief)
        return connection.there, connection.back


class _Connection:
    def __init__(self, wire: AmqpWire, mischief: Mischief) -> None:
        self._wire = wire
        self._mischief = mischief
        self._counts: dict[int, Count] = {}
        self._client: asyncio.StreamWriter | None = None
        self._met = asyncio.Event()

    async def there(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self._wire.forward(writer, await reader.readexactly(GREETING))
        while True:
            frame = await _read(reader)
            if frame.method == PUBLISH:
                content, body = await _content(reader)
                self._wire.bodies.append(body)
                await self._publish(writer, frame, content)
            else:
                await self._wire.forward(writer, frame.whole)

    async def back(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._client = writer
        self._met.set()
        while True:
            frame = await _read(reader)
            if frame.method in (ACK, NACK):
                _, _, tag, bits = TAG.unpack_from(frame.payload)
                for number in self._count(frame.channel).confirmed(tag, bool(bits & 1)):
                    await self._wire.forward(writer, _confirmation(frame, number))
            else:
                await self._wire.forward(writer, frame.whole)

    async def _publish(self, writer: asyncio.StreamWriter, frame: Frame, content: bytes) -> None:
        count = self._count(frame.channel)
        count.sent += 1
        number: int | None = count.sent
        kind = next((kind for mark, kind in KINDS.items() if mark in frame.payload), None)
        delays = (0.0,) if kind is None else self._mischief.delays(kind)
        if not delays:
            await self._met.wait()
            assert self._client is not None
            await self._wire.forward(self._client, _confirmation(frame, count.sent))
        for delay in delays:
            if delay:
                asyncio.get_running_loop().call_later(delay, self._send, writer, count, number, frame.whole + content)
            else:
                await self._wire.forward(writer, b"")
                self._send(writer, count, number, frame.whole + content)
            number = None

    def _send(self, writer: asyncio.StreamWriter, count: Count, number: int | None, message: bytes) -> None:
        if not writer.transport.is_closing():
            count.arrived += 1
            count.open[count.arrived] = number
            writer.write(message)

    def _count(self, channel: int) -> Count:
        return self._counts.setdefault(channel, Count())


async def _read(reader: asyncio.StreamReader) -> Frame:
    header = await reader.readexactly(HEADER.size)
    kind, channel, size = HEADER.unpack(header)
    rest = await reader.readexactly(size + 1)
    return Frame(kind, channel, rest[:-1], header + rest)


async def _content(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    """The frames that follow what is published, which a client sends in one piece, and the body in them."""
    frame = await _read(reader)
    assert frame.kind == CONTENT_HEADER
    (size,) = struct.unpack_from(">Q", frame.payload, 4)
    frames, body = frame.whole, b""
    while len(body) < size:
        frame = await _read(reader)
        frames += frame.whole
        body += frame.payload
    return frames, body


def _confirmation(frame: Frame, number: int) -> bytes:
    method = frame.method if frame.method in (ACK, NACK) else ACK
    assert method is not None
    payload = TAG.pack(*method, number, 0)
    return HEADER.pack(METHOD, frame.channel, len(payload)) + payload + b"\xce"
