"""An application whose queues are NATS's."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from nats.js import JetStreamContext

from servers.ports import free_port
from stepward import Agent, App, workflow
from stepward.errors import TransportError
from stepward.model.records import DeadLetter
from tests.transport.brokers import Heard

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
        letters: Sequence[DeadLetter] = []
        async with asyncio.timeout(30):
            while not letters:
                letters = await client.dead_letters(10)
        (letter,) = letters
    assert (letter.queue, letter.body) == ("agents.payments", b"?")
    assert "expected a batch of CloudEvents" in letter.reason


async def test_a_broker_out_of_reach_ends_the_start(tmp_path: Path) -> None:
    shop = application("shop", f"nats://user:canary@127.0.0.1:{free_port()}", tmp_path)
    try:
        async with shop.running():
            raise AssertionError("started")
    except TransportError as error:
        assert "expected NATS at" in str(error)
        assert "canary" not in str(error)
