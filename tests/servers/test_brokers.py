"""The broker of the example: a server that ends is started again, and what is published is seen.

RabbitMQ is stopped and started in the demo over it, which is a test, too.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import nats
import pytest

from servers.keeper.broker_process import BrokerProcess
from servers.keeper.broker_state import BrokerStanding
from servers.keeper.process import ProcessDied, Upkeep
from servers.keeper.transports import TransportKind
from showcase.faults import nats as nats_outside
from showcase.faults.traffic import Kind, Traffic

pytestmark = pytest.mark.servers

LONGEST_SECONDS = 60
ORDER = {"type": "stepward.submission", "id": "order-1"}


class Kept(BrokerProcess):
    """A broker, all that was said of how it stands, and how it was lost."""

    def __init__(self, kind: TransportKind, logs: Path) -> None:
        self.told: list[BrokerStanding] = []
        self.lost: asyncio.Future[ProcessDied] = asyncio.get_running_loop().create_future()
        upkeep = Upkeep(logs=logs, on_loss=self.lost.set_result)
        super().__init__(kind, upkeep=upkeep, away=0.2, on_change=self.told.append)


@pytest.fixture
async def nats_servers(tmp_path: Path) -> AsyncIterator[Kept]:
    async with Kept(TransportKind.NATS, tmp_path) as broker:
        yield broker


class Watched(Traffic):
    """Traffic that can be waited for."""

    def __init__(self) -> None:
        super().__init__()
        self._noted = asyncio.Event()

    def note(self, body: bytes) -> None:
        super().note(body)
        self._noted.set()

    async def orders(self, number: int) -> None:
        while len(self.ids[Kind.SUBMISSION]) < number:
            self._noted.clear()
            await self._noted.wait()


async def test_the_leader_of_three_dies_one_leads_again_and_all_three_are_back(nats_servers: Kept) -> None:
    before, traffic = nats_servers.standing, Watched()
    assert (before.title, len(before.servers), nats_servers.address.count(","), before.size) == ("NATS", 3, 2, 3)
    async with asyncio.timeout(LONGEST_SECONDS), nats_outside.looking(nats_servers.ports, traffic) as client:
        stream = client.jetstream()
        await stream.add_stream(name=nats_outside.STREAM, subjects=["stepward.orders.queue.>"], num_replicas=3)
        leader = await nats_outside.leader_after(client, "")
        [dead] = [server for server in before.servers if server.name == leader]
        os.kill(dead.pid, signal.SIGKILL)
        await nats_servers.until(lambda standing: len(standing.servers) == 2)
        # Any server may be elected, also one that is back by then.
        assert await nats_outside.leader_after(client, "")
        await stream.publish("stepward.orders.queue.any", json.dumps(ORDER).encode())
        await traffic.orders(1)
        after = await nats_servers.whole()
    assert {server.port for server in after.servers} == {server.port for server in before.servers}
    assert len({server.pid for server in after.servers} - {server.pid for server in before.servers}) == 1


async def test_a_brokers_servers_end_with_their_keeper(nats_servers: Kept) -> None:
    assert await nats_servers.terminate() == 0
    for port in nats_servers.ports:
        with pytest.raises(OSError):
            await asyncio.open_connection("127.0.0.1", port)
    assert not nats_servers.lost.done()


async def test_a_broker_that_cannot_start_reports_the_reason(tmp_path: Path) -> None:
    broker = Kept(TransportKind.NATS, tmp_path)
    async with await asyncio.start_server(lambda _reader, _writer: None, "127.0.0.1", broker.ports[0]):
        with pytest.raises(ProcessDied, match=r"nats: .*expected its servers.*NATS: expected node1 to start"):
            await broker.start()
    assert await broker.terminate() == 1


async def test_a_missing_stream_has_no_leader(nats_servers: Kept) -> None:
    client = await nats.connect(f"nats://127.0.0.1:{nats_servers.ports[0]}")
    try:
        assert await nats_outside.leader(client) == ""
    finally:
        await client.close()
