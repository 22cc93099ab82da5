"""Signed webhooks that come in, and status events that go out, of an application whose queues are a broker's."""

from __future__ import annotations

import time

import httpx
import pytest

from stepward.observers.webhook_signature import signed_headers
from tests.appqueues.shop import QUEUE, Shop
from tests.observers.receiver import receiving
from tests.observers.test_event_webhooks import counted, events
from tests.until import until

pytestmark = pytest.mark.servers

SECRET = "whsec_" + "A" * 32
JSON = {"content-type": "application/json"}


async def test_a_webhook_becomes_one_task_over_the_broker_and_its_events_are_posted(shop: Shop) -> None:
    async with receiving() as receiver:
        webhooks = {"crm": {"url": receiver.url, "secret": SECRET}}
        app = shop.app(hooks={"shop": {"queue": QUEUE, "secret": SECRET}}, webhooks=webhooks, supervisor_every="100ms")
        app.webhook("crm")
        await shop.run(app)
        transport = httpx.ASGITransport(app=app.asgi())
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as sender:

            async def send(id: str, body: bytes, signed: bytes) -> httpx.Response:
                headers = signed_headers([SECRET], id, time.time(), signed)
                return await sender.post("/hooks/shop", content=body, headers=JSON | headers)

            for _ in range(2):
                # A broker that has just begun may hang up once: a sender repeats what is answered 503.
                answer = await until(lambda: send("msg_1", b'"tea"', b'"tea"'), lambda found: found.status_code != 503)
                assert (answer.status_code, answer.json()) == (202, {"id": "shop:msg_1"})
            assert (await send("msg_2", b'"tea"', b'"milk"')).status_code == 401
        await until(lambda: shop.client.tasks(where="state = 'processed'"))
        await until(lambda: counted(receiver, 3))
        assert [task.id for task in await shop.client.tasks()] == ["shop:msg_1"]
        assert await shop.placed() == ["shop:msg_1"]
        kinds = ["request.received", "task.started", "task.completed"]
        assert events(receiver.received) == [("shop:msg_1", kind) for kind in kinds]
