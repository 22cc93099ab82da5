"""An operator hears once of messages that are refused, however many there are."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from stepward import Agent, App, Client, workflow
from stepward.client import session_of
from stepward.model.messages.requests import request_queue
from stepward.model.messages.signing import Signer, StoreIdentity
from stepward.model.records import Alert
from stepward.transport.wire.encoding import Wire, join
from tests.transport.brokers import brokered, new_app
from tests.transport.messages import reply, request, signer_of
from tests.transport.wire.doors import Door

pytestmark = pytest.mark.servers

MANY = 300
OTHER = Signer(StoreIdentity("0f1e2d3c4b5a69788796", bytes(32)))
payments = Agent("payments")


@payments.operation(complete_by="30s")
async def charge(order: str) -> str:
    return f"charge-{order}"


@workflow
async def fulfil(order: str) -> str:
    return await charge(order)


async def test_one_alert_names_both_stores(door: Door, tmp_path: Path) -> None:
    shop = application(new_app(), door.address, tmp_path)
    staging = Wire(shop.name, OTHER)
    async with shop.running(), shop.client() as client:
        await (await client.submit(fulfil, "o0")).result(timeout="30s")
        asked = [staging.encode(request(f"{number}", proof=None), 0.0) for number in range(MANY)]
        await door.put(shop.name, request_queue("payments"), join(asked))
        alert = await alerted(client)
        ours = await signer_of(session_of(client).store)
        assert (alert.kind, alert.task) == ("foreign_store", None)
        assert ours.store in alert.message
        assert OTHER.store in alert.message
        assert await (await client.submit(fulfil, "o1")).result(timeout="30s") == "charge-o1"
        assert [each.kind for each in await client.alerts(10)] == ["foreign_store"]


async def test_forged_replies_leave_one_alert_and_nothing_in_the_audit(address: str, tmp_path: Path) -> None:
    shop = application(new_app(), address, tmp_path)
    async with shop.running() as running, shop.client() as client:
        assert running.host.scheduler is not None
        queue = f"replies.{running.host.scheduler.instance}"
        before = await client.audits(None, 1_000)
        async with brokered(address, app=shop.name, signer=await signer_of(session_of(client).store)) as stranger:
            forged = [reply(f"{number}", proof="0" * 32) for number in range(MANY)]
            await stranger.publish(queue, forged)
        alert = await alerted(client)
        assert alert.kind == "unproven_message"
        assert await (await client.submit(fulfil, "o1")).result(timeout="30s") == "charge-o1"
        assert len(await client.alerts(10)) == 1
        assert [each for each in await client.audits(None, 1_000) if each.act == "late_reply"] == []
        assert len(before) <= len(await client.audits(None, 1_000)) < MANY
        assert await client.dead_letters(10) == []


def application(name: str, address: str, folder: Path) -> App:
    return App(name, workflows=[fulfil], agents=[payments], store=f"sqlite:///{folder}/shop.db", transport=address)


async def alerted(client: Client) -> Alert:
    async with asyncio.timeout(30):
        while not (alerts := await client.alerts(10)):  # noqa: ASYNC110 - another actor raises it
            await asyncio.sleep(0.01)
    return alerts[0]
