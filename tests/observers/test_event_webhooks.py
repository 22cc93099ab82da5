"""Status events posted to webhooks: declared in code, received over HTTP, stopped and dealt with by operators."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from stepward import Agent, App, Client, workflow
from stepward.errors import DeclarationError, SettingsError
from stepward.observers.webhook_signature import verify
from tests.observers.receiver import Received, Receiver, receiving
from tests.until import until

SECRET, FORMER = "0123456789abcdef", "fedcba9876543210"
bank = Agent("bank")


@bank.operation
async def pay(cents: int) -> str:
    return f"paid {cents}"


@workflow
async def notify(text: str) -> str:
    return text


@workflow
async def order(cents: int) -> str:
    return await notify(await pay(cents))


def shop(tmp_path: Path, receiver: Receiver, **settings: Any) -> App:
    webhooks = {"crm": {"url": receiver.url, "secret": SECRET, "previous_secret": FORMER}}
    store = f"sqlite:///{tmp_path}/shop.db"
    return App(
        "shop",
        workflows=[order, notify],
        agents=[bank],
        store=store,
        supervisor_every="100ms",
        **{"webhooks": webhooks, **settings},
    )


def events(received: list[Received]) -> list[tuple[str, str]]:
    """Subject and kind of each event."""
    bodies = [msgspec.json.decode(each.body) for each in received]
    return [(body["subject"], body["type"].removeprefix("stepward.")) for body in bodies]


async def counted(receiver: Receiver, least: int = 1) -> bool:
    """Whether it received so many."""
    return len(receiver.received) >= least


async def test_all_events_of_a_task_and_its_child_arrive_in_order_and_signed(tmp_path: Path) -> None:
    async with receiving() as receiver:
        app = shop(tmp_path, receiver)
        app.webhook("crm")
        async with app.running(), app.client() as client:
            assert await (await client.submit(order, 990, id="A-1")).result() == "paid 990"
            await until(lambda: counted(receiver, 9))
        told = events(receiver.received)
        assert [kind for subject, kind in told if subject == "A-1"] == [
            *("request.received", "task.started", "step.completed", "task.waiting", "step.completed", "task.completed")
        ]
        child = [kind for subject, kind in told if subject != "A-1"]
        assert child == ["request.received", "task.started", "task.completed"]
        first = receiver.received[0]
        for secret in (SECRET, FORMER):
            id = verify(secret, first.headers, first.body, float(first.headers["webhook-timestamp"]))
            assert id == msgspec.json.decode(first.body)["id"]


async def test_a_webhook_gets_the_kinds_and_workflows_that_it_names(tmp_path: Path) -> None:
    async with receiving() as receiver:
        app = shop(tmp_path, receiver)
        app.webhook("crm", workflows=[order], events=["stepward.task.completed", "stepward.task.failed"])
        async with app.running(), app.client() as client:
            task = await client.submit(order, 990, id="A-1", reply_to="replies.shop.web")
            await task.result()
            await until(lambda: counted(receiver))
            async for event in client.events("replies.shop.web"):
                if event.type == "stepward.task.completed":
                    break
            assert event.sequence == 6
        assert events(receiver.received) == [("A-1", "task.completed")]


async def test_a_client_without_code_submits_tasks_whose_events_are_posted(tmp_path: Path) -> None:
    async with receiving() as receiver:
        app = shop(tmp_path, receiver)
        app.webhook("crm", events=["stepward.request.received"])
        async with app.running(), Client(app.settings.store, app="shop") as client:
            await client.submit("notify", "hello", id="B-1")
            await until(lambda: counted(receiver))
        assert events(receiver.received) == [("B-1", "request.received")]


async def test_an_operator_disables_and_enables_a_webhook(tmp_path: Path) -> None:
    async with receiving() as receiver:
        app = shop(tmp_path, receiver)
        app.webhook("crm", events=["stepward.task.completed"])
        async with app.running(), app.client() as client:
            await until(client.webhooks)
            assert await client.disable_webhook("crm") and not await client.disable_webhook("crm")
            await (await client.submit(notify, "hello", id="B-1")).result()
            assert receiver.received == []
            assert await client.enable_webhook("crm")
            await until(lambda: counted(receiver))
            assert [audit.act for audit in await client.audits()] == ["enable", "disable"]


def test_a_declaration_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    app = App("shop", workflows=[notify], store=f"sqlite:///{tmp_path}/shop.db")
    for arguments, reason in (
        ({"name": "CRM!"}, "expected a name of 1 to 40"),
        ({"name": "crm", "workflows": [order]}, "expected workflows of this application"),
        ({"name": "crm", "events": ["stepward.task.ended"]}, "events: expected some of stepward.request.received"),
        ({"name": "crm", "events": []}, "expected one kind or more"),
    ):
        with pytest.raises(DeclarationError, match=reason):
            app.webhook(**arguments)
    app.webhook("crm")
    with pytest.raises(DeclarationError, match="expected one declaration, found two"):
        app.webhook("crm")


async def test_a_supervisor_needs_the_receiver_of_each_webhook_and_no_other(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/shop.db"
    app = App("shop", workflows=[notify], store=store)
    app.webhook("crm")
    with pytest.raises(SettingsError, match="expected url and secret of crm"):
        async with app.running():
            pass
    async with app.running(supervisor=False):
        pass
    given = {"crm": {"url": "https://crm.example.com/", "secret": SECRET}}
    other = App("shop", workflows=[notify], store=store, webhooks=given)
    with pytest.raises(SettingsError, match=r"expected crm to be declared by App\.webhook"):
        async with other.running():
            pass


@pytest.mark.parametrize("short", ["secret", "previous_secret"])
async def test_a_short_secret_is_refused_under_the_name_of_its_setting(tmp_path: Path, short: str) -> None:
    receiver = {"url": "https://crm.example.com/", "secret": SECRET, short: "short"}
    app = App("shop", workflows=[notify], store=f"sqlite:///{tmp_path}/shop.db", webhooks={"crm": receiver})
    app.webhook("crm")
    with pytest.raises(SettingsError, match=rf"^webhooks\.crm\.{short}: expected 16 bytes or more"):
        async with app.running():
            pass


async def test_a_supervisor_without_code_posts_to_the_receivers_of_its_settings(tmp_path: Path) -> None:
    async with receiving() as receiver:
        app = shop(tmp_path, receiver)
        app.webhook("crm", events=["stepward.task.completed"])
        async with app.running(supervisor=False), app.client() as client:
            await (await client.submit(notify, "hello", id="B-1")).result()
        given = {"crm": {"url": receiver.url, "secret": SECRET}}
        assert (await App("shop", store=app.settings.store, webhooks=given).supervise_once()).posted == 1
        assert events(receiver.received) == [("B-1", "task.completed")]


def test_code_without_an_event_loop_sees_webhooks_too(tmp_path: Path) -> None:
    with App("shop", workflows=[], store=f"sqlite:///{tmp_path}/shop.db").sync_client() as client:
        assert client.webhooks() == []
        assert not client.enable_webhook("crm") and not client.disable_webhook("crm")
