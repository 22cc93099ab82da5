"""Connections to RabbitMQ that end at an inconvenient moment."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import aio_pika
import pytest

from servers.rabbitmq import RabbitServer
from stepward.clock import Environment
from stepward.errors import TransportError
from stepward.events import Observers
from stepward.transport.broker.broker_transport import BrokerTransport
from stepward.transport.rabbitmq.broker import RabbitBroker
from stepward.transport.rabbitmq.connection import RabbitChannels, RabbitConnection
from tests.faults.wires import CHUNK, Pump, Wire
from tests.transport.brokers import Heard, brokered, new_app, opened
from tests.transport.messages import reply, request

QUEUE = "agents.payments"
BOUND = 120.0

pytestmark = [pytest.mark.faults, pytest.mark.timeout(180)]


class HoldingWire(Wire):
    """Can hold what the server sends, lose what it receives, and let all of it end in a burst."""

    def __init__(self, server_port: int) -> None:
        super().__init__(server_port)
        self.is_holding = False
        self.held = b""
        self.dropped = b""
        self._to: asyncio.StreamWriter | None = None

    def pumps(self) -> tuple[Pump, Pump]:
        return self._there, self._back

    def burst(self) -> None:
        """Pass on what is held, at once, with the end of the connection right behind."""
        assert self._to is not None
        self._to.write(self.held)
        self._to.write_eof()
        self.is_holding = False

    async def _there(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while chunk := await reader.read(CHUNK):
            if self.is_holding:
                self.dropped += chunk
            else:
                await self.forward(writer, chunk)

    async def _back(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while chunk := await reader.read(CHUNK):
            if self.is_holding:
                self.held += chunk
                self._to = writer
            else:
                await self.forward(writer, chunk)


async def until(look: Callable[[], bool]) -> None:
    async with asyncio.timeout(BOUND):
        while not look():  # noqa: ASYNC110  who brings it about is another program
            await asyncio.sleep(0.01)


async def test_a_connection_that_ends_right_behind_a_burst_is_lost_like_any_other(server: RabbitServer) -> None:
    """The client's reader is held up by the burst, finds the end, and rejects what waits with a bare Exception."""
    app, events = new_app(), Heard()
    async with HoldingWire(server.port) as wire, brokered(server.address, app=app) as other:
        one = await opened(f"amqp://guest:guest@127.0.0.1:{wire.port}/", app=app, events=events)
        await one.publish("replies.me", [reply("warm")])
        await one.publish("agents.new", [request("warm")])
        await one.publish(QUEUE, [request("warm")])
        await one.settle(QUEUE, await one.take(QUEUE, 200, 30.0))
        wire.is_holding = True
        for number in range(60):
            await other.publish(QUEUE, [request(f"burst-{number}")])
        await until(lambda: b"burst-59" in wire.held)
        publishing = [
            asyncio.create_task(one.publish("replies.me", [reply("late")])),
            asyncio.create_task(one.publish("agents.new", [request("late")])),
        ]
        await until(lambda: b"stepward" in wire.dropped and b"agents.new" in wire.dropped)
        wire.burst()
        async with asyncio.timeout(BOUND):
            ended = await asyncio.gather(*publishing, return_exceptions=True)
        assert [type(outcome) for outcome in ended] == [TransportError, TransportError]
        await events.of("transport.connected")
        await one.publish(QUEUE, [request("after")])
        await one.close()


@pytest.mark.parametrize("ends", ["connection", "channel"])
async def test_a_connection_that_ends_while_it_is_made_is_not_kept(server: RabbitServer, ends: str) -> None:
    lines: list[RabbitChannels] = []

    async def end_the_first(line: RabbitChannels) -> None:
        lines.append(line)
        if len(lines) == 1:
            transport = line.connection.transport
            assert transport is not None
            await (transport.connection if ends == "connection" else line.channel).close()

    link = RabbitConnection(
        server.address, name="s", opened=end_the_first, environment=Environment(), observers=Observers()
    )
    with pytest.raises(TransportError, match="to answer, found: no answer"):
        await link.open()
    await link.open()
    assert await link.line() is lines[-1]
    await link.close()


async def test_a_process_whose_own_queue_was_deleted_listens_again(server: RabbitServer) -> None:
    """Only its consumer is cancelled: a process that ignored that would never receive a revocation again."""
    app, events = new_app(), Heard()
    lost: list[str | None] = []
    heard = asyncio.Event()
    async with brokered(server.address, app=app) as other, brokered(server.address, app=app, events=events) as one:
        one.on_lost(lost.append)
        one.on_revoke(QUEUE, lambda *_: heard.set())
        before = await delete_own(server, one)
        await events.of("transport.connected")
        assert lost == [None]
        assert own(one) != before
        await other.revoke(QUEUE, "uid-1", 1, "x/1")
        async with asyncio.timeout(BOUND):
            await heard.wait()


def own(transport: BrokerTransport) -> str:
    broker = transport._broker
    assert isinstance(broker, RabbitBroker)
    return broker._own


async def delete_own(server: RabbitServer, transport: BrokerTransport) -> str:
    name = own(transport)
    connection = await aio_pika.connect(server.address)
    await (await connection.channel()).queue_delete(name)
    await connection.close()
    return name
