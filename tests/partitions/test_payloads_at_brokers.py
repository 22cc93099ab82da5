"""Payloads of an application over two stores at a broker: encrypted, and large ones kept outside."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from stepward import Accepted, Agent, App, Encryption, LargePayloads, Message, Queues, workflow
from stepward.store.contract import Transaction
from tests.partitions.test_at_brokers import completed, ids_of
from tests.transport.brokers import SERVERS, clear, new_app

pytestmark = pytest.mark.servers

KEYS = Encryption("k1", {"k1": bytes(range(32))})
SECRET = "4111-1111-1111-1111"
OVER, SIZE = 1024, 5_000

bank = Agent("bank")


@bank.operation()
async def pay(card: str) -> str:
    return f"paid {card}"


@workflow
async def order(card: str) -> str:
    return await pay(card)


async def accept(message: Message, transaction: Transaction) -> Accepted:
    return Accepted(order, message.read(str))


@pytest.fixture
async def name() -> AsyncIterator[str]:
    name = new_app()
    yield name
    for each in (name, f"{name}+p1", f"{name}+p2"):
        await clear(SERVERS.nats(), each)


async def carry(name: str, folder: Path, card: str, settings: dict[str, Any], given: dict[str, Any]) -> None:
    """Post an order for each store as a program to which this is given, and read how both ended."""
    address = await asyncio.to_thread(SERVERS.nats)
    stores = [f"sqlite:///{folder / each}.db" for each in ("a", "b")]
    app = App(name, workflows=[order], agents=[bank], store=stores, transport=address, poll=0.05, **settings)
    app.submission("orders", accept=accept)
    replies, ids = f"replies.{name}.web", [*ids_of(1, 1), *ids_of(2, 1)]
    async with app.running(), app.client() as client, Queues(address, app=name, **given) as queues:
        for id in ids:
            await queues.post("orders", card, id=id, reply_to=replies)
        await completed(queues, replies, ids)
        assert [await client.task(id).result() for id in ids] == [f"paid {card}"] * 2


async def test_encrypted_messages_reach_both_stores_and_stand_in_none(name: str, tmp_path: Path) -> None:
    await carry(name, tmp_path, SECRET, {"encryption": KEYS}, {"encryption": KEYS})
    for file in tmp_path.glob("*.db*"):
        assert SECRET.encode() not in file.read_bytes()


async def test_large_messages_reach_both_stores_by_reference(name: str, tmp_path: Path) -> None:
    card, address = "x" * SIZE, f"file://{tmp_path / 'large'}"
    settings = {"large_payloads": address, "large_payload_bytes": OVER}
    await carry(name, tmp_path, card, settings, {"large_payloads": LargePayloads(address, over_bytes=OVER)})
    for file in tmp_path.glob("*.db*"):
        assert card.encode() not in file.read_bytes()
