"""An application whose queues are NATS's."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from nats.js import JetStreamContext

from servers.ports import free_port
from stepward import Agent, App, Client, workflow
from stepward.client import session_of
from stepward.errors import TransportError
from stepward.model.records import DeadLetter
from stepward.transport.wire.encoding import Wire
from tests.transport.brokers import Heard
from tests.transport.messages import proven, request, signer_of

pytestmark = pytest.mark.servers

payments = Agent("payments")


@payments.operation(complete_by="30s")
async def charge(order: str) -> str:
    return f"charge-{order}"


@workflow
async def fulfil(order: str) -> str:
    return await charge(order)


def application(name: str, address: str, folder: Path) -> App:
    return App(name, workflows=[fulfil], agents=[payments], store=f"sqlite:///{folder}/shop.db", transport=address)


async def test_tasks_are_done_and_what_is_foreign_reaches_the_operator(
    address: str, app: str, stream: JetStreamContext, tmp_path: Path
) -> None:
    shop = application(app, address, tmp_path)
    events = Heard()
    shop.observers.add(events.append)
    async with shop.running(), shop.client() as client:
        await stream.publish(f"stepward.{app}.queue.agents.payments", b"?")
        tasks = [await client.submit(fulfil, f"o{number}", id=f"o{number}") for number in range(20)]
        assert [await task.result(timeout="30s") for task in tasks] == [f"charge-o{number}" for number in range(20)]
        await events.of("transport.dead_letter")
        letter = await _letter(client)
        assert (letter.queue, letter.body) == ("agents.payments", b"?")
        assert "expected a batch of CloudEvents" in letter.reason
        assert await client.put_back(letter.number) == [letter.number]
        again = await _letter(client)
        assert (again.queue, again.body) == ("agents.payments", b"?"), "it may not stand where nobody looks"
        assert "put back into agents.payments: expected a batch of CloudEvents" in again.reason


async def test_a_request_put_back_reaches_its_agent(address: str, app: str, tmp_path: Path) -> None:
    stock, reserved = Agent("stock"), asyncio.get_running_loop().create_future()

    @stock.operation(complete_by="30s")
    async def reserve(order: str) -> None:
        reserved.set_result(order)

    store = f"sqlite:///{tmp_path}/shop.db"
    shop = App(app, workflows=[fulfil], agents=[payments, stock], store=store, transport=address)
    async with shop.running(), shop.client() as client:
        signer = await signer_of(session_of(client).store)
        asked = proven(request(agent="stock", operation="stock.reserve", input=b'["o1"]'), signer)
        body = Wire(app, signer).encode(asked, 0.0)
        messages = session_of(client).store.messages
        await messages.bury_bodies("agents.stock", [(body, "an older version did not know it", 1)])
        await client.put_back((await _letter(client)).number)
        async with asyncio.timeout(30):
            assert await reserved == "o1"
        assert await client.dead_letters(10) == []


async def _letter(client: Client) -> DeadLetter:
    async with asyncio.timeout(30):
        while not (letters := await client.dead_letters(10)):  # noqa: ASYNC110 - another actor buries it
            await asyncio.sleep(0.01)
    (letter,) = letters
    return letter


async def test_a_broker_out_of_reach_ends_the_start(tmp_path: Path) -> None:
    shop = application("shop", f"nats://user:canary@127.0.0.1:{free_port()}", tmp_path)
    try:
        async with shop.running():
            raise AssertionError("started")
    except TransportError as error:
        assert "expected NATS at" in str(error)
        assert "canary" not in str(error)
