"""The permissions of docs/deployment.md in the users of credentials files: enough, and no more."""

from __future__ import annotations

import asyncio
from pathlib import Path

import nats as client
import pytest

from servers import nats
from tests.deploy.without_passwords import issue
from tests.transport.nats.issuer import Issuer
from tests.transport.nats.test_permissions import application

pytestmark = pytest.mark.servers


async def test_users_of_credentials_files_do_their_part_and_no_others(tmp_path: Path) -> None:
    issuer = Issuer()
    issue(issuer, tmp_path)
    with nats.running(users=issuer.settings()) as node:

        def at(login: str) -> str:
            return node.address.replace("nats://", f"nats://{login}@") + f"?credentials={tmp_path}/{login}.creds"

        shop, agents = application(at("scheduler"), tmp_path), application(at("payments"), tmp_path)
        async with (
            shop.running(agents=False),
            agents.running(scheduler=False, supervisor=False, agents=["payments"]),
            shop.client() as orders,
        ):
            task = await orders.submit("fulfil", "o1", id="o1")
            assert await task.result(timeout="20s") == "charge-o1"
            assert await orders.alerts(10) == []
        refused: asyncio.Queue[Exception] = asyncio.Queue()
        thief = await client.connect(
            node.address, user_credentials=str(tmp_path / "payments.creds"), error_cb=refused.put
        )
        try:
            await thief.publish("stepward.shop.queue.agents.mail", b"[]")
            assert "permissions violation" in str(await asyncio.wait_for(refused.get(), 5)).lower()
        finally:
            await thief.close()
