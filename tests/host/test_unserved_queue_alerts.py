"""Non-empty queues of an application that no process serves, in the store: an alert while that lasts."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from stepward import Accepted, App, Client, Message, Queues, workflow
from stepward.host.assembly import Parts
from stepward.host.queues.unserved_queue_alerts import LOOK_SECONDS, UNSERVED_SECONDS, UnservedQueues, UnservedTimes
from stepward.store.contract import Transaction


@workflow
async def fulfil(what: str) -> str:
    return what


async def accept(message: Message, transaction: Transaction) -> Accepted:
    return Accepted(fulfil, message.read(str))


async def alerts(client: Client, count: int) -> list[str]:
    """Wait until so many are open; their messages."""
    async with asyncio.timeout(30):
        while len(found := await client.alerts()) != count:  # noqa: ASYNC110 - another process raises it
            await asyncio.sleep(0.02)
    return [alert.message for alert in found]


async def test_an_unserved_submission_queue_is_an_alert_until_it_is_served(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stepward.host.queues.unserved_queue_alerts.LOOK_SECONDS", 0.05)
    monkeypatch.setattr("stepward.host.queues.unserved_queue_alerts.UNSERVED_SECONDS", 0.1)
    store = f"sqlite:///{tmp_path}/shop.db"
    app = App("shop", workflows=[fulfil], store=store, poll=0.05)
    serving = App("shop", workflows=[fulfil], store=store)
    serving.submission("orders", accept=accept)
    async with app.running(), app.client() as client, Queues(store, app="shop") as queues:
        await queues.post("orders", "tea", id="o1")
        (message,) = await alerts(client, 1)
        assert message.startswith("queue submissions.shop.orders: expected a submission process, found none for 0 s")
        async with serving.running(scheduler=False, supervisor=False):
            await alerts(client, 0)


async def test_the_alert_of_a_process_that_is_gone_is_ended_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stepward.host.queues.unserved_queue_alerts.LOOK_SECONDS", 0.05)
    monkeypatch.setattr("stepward.host.queues.unserved_queue_alerts.UNSERVED_SECONDS", 0.1)
    store = f"sqlite:///{tmp_path}/shop.db"
    serving = App("shop", workflows=[fulfil], store=store)
    serving.submission("orders", accept=accept)
    async with serving.client() as client, Queues(store, app="shop") as queues:
        async with App("shop", workflows=[fulfil], store=store, poll=0.05).running():
            await queues.post("orders", "tea", id="o1")
            await alerts(client, 1)
        async with serving.running():
            await alerts(client, 0)


async def test_a_response_queue_that_is_first_carried_to_during_a_look_ends_no_look() -> None:
    """At RabbitMQ each queue is asked for, and the relay goes on meanwhile."""
    carried, asked = dict.fromkeys(["replies.shop.web"]), list[str]()

    class Growing:
        async def nonempty(self, prefix: str, known: Collection[str]) -> Mapping[str, bool | None]:
            for queue in known:
                asked.append(queue)
                carried[f"replies.shop.{len(carried)}"] = None
            return {}

    parts = SimpleNamespace(app="shop", queues=Growing(), submissions=[], partition=None)
    watch = UnservedQueues(cast(Parts, cast(Any, parts)), lambda: "scheduler-1", carried)
    assert await watch._unserved([], []) == {}
    assert asked == ["replies.shop.web"]


def test_a_clock_jump_does_not_count_as_unserved_time() -> None:
    """A submission process is killed and restarted, and a standby takes over whose clock is ahead or behind."""
    times = UnservedTimes()
    for now in (1000.0, 1000.0 + LOOK_SECONDS + 3600.0):
        assert times.found(["orders"], now)["orders"] < UNSERVED_SECONDS
    assert times.found([], now + 1.0) == {}
    for now in (5000.0, 5000.0 + LOOK_SECONDS, 1000.0):
        assert times.found(["orders"], now)["orders"] < UNSERVED_SECONDS
    assert times.found(["orders"], now + LOOK_SECONDS)["orders"] >= UNSERVED_SECONDS
