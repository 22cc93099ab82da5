"""Alerts of queues that a broker refuses: one for all processes, and one for a process that alone is refused."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from stepward import App, Client, workflow
from stepward.client import session_of
from stepward.host.queues.refused_queue_alerts import RefusedQueueAlerts
from stepward.model.records import Alert, Instance, Role
from stepward.running import Running
from stepward.transport.broker.refused_queues import ACCEPTED, REFUSED


@workflow
async def fulfil(what: str) -> str:
    return what


class Process:
    """A process and its warnings, with what its broker says of a queue."""

    def __init__(self, running: Running) -> None:
        parts: Any = running.host._parts
        self._observers = parts.observers
        assert running.host.scheduler is not None
        self.instance = running.host.scheduler.instance
        self.expected: list[str] = []
        self.looks = 0
        self._alerts = parts.store.operators.alerts
        parts.store.operators.alerts = self._counted
        parts.transport.expect = self.expected.append
        self.task = asyncio.create_task(RefusedQueueAlerts(parts, lambda: self.instance).keep())

    def refuse(self, queue: str) -> None:
        self._observers.emit(REFUSED, broker="NATS", queue=queue, reason="no permission")

    async def look_again(self, times: int) -> None:
        """Wait until it has looked so often."""
        reached = self.looks + times
        async with asyncio.timeout(30):
            while self.looks < reached:  # noqa: ASYNC110 - another actor looks
                await asyncio.sleep(0.02)

    async def _counted(self, *given: Any, **named: Any) -> Any:
        self.looks += 1
        return await self._alerts(*given, **named)

    def accept(self, queue: str) -> None:
        self._observers.emit(ACCEPTED, broker="NATS", queue=queue)


async def details(client: Client, wanted: set[bytes]) -> None:
    """Wait until the open alerts have these details."""
    found: set[bytes] | None = None
    async with asyncio.timeout(30):
        while found != wanted:
            await asyncio.sleep(0.02)
            found = {alert.details for alert in await session_of(client).store.operators.alerts(9, open_only=True)}


def about(queue: str, instance: str | None = None) -> bytes:
    return f'{{"queue":"{queue}"'.encode() + (f',"instance":"{instance}"}}' if instance else "}").encode()


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stepward.host.queues.refused_queue_alerts.LOOK_SECONDS", 0.05)
    monkeypatch.setattr("stepward.host.queues.refused_queue_alerts.PATIENCE_SECONDS", 0.01)


async def test_another_process_settles_a_refusal_and_a_refused_one_raises_it_again(tmp_path: Path) -> None:
    app = App("shop", workflows=[fulfil], store=f"sqlite:///{tmp_path}/shop.db")
    other = App("shop", workflows=[fulfil], store=f"sqlite:///{tmp_path}/shop.db")
    async with app.client() as client, app.running() as first, other.running() as second:
        refused, works = Process(first), Process(second)
        await asyncio.sleep(0)
        refused.refuse("agents.mail")
        await details(client, {about("agents.mail")})
        async with asyncio.timeout(30):
            while "agents.mail" not in works.expected:  # noqa: ASYNC110 - another actor asks
                await asyncio.sleep(0.02)
        works.accept("agents.mail")
        await details(client, {about("agents.mail", refused.instance)})
        refused.accept("agents.mail")
        await details(client, set())
        for each in (refused, works):
            each.task.cancel()
            await asyncio.gather(each.task, return_exceptions=True)


async def test_an_acknowledged_refusal_is_not_raised_again(tmp_path: Path) -> None:
    app = App("shop", workflows=[fulfil], store=f"sqlite:///{tmp_path}/shop.db")
    async with app.client() as client, app.running() as running:
        process = Process(running)
        await asyncio.sleep(0)
        process.refuse("agents.mail")
        await details(client, {about("agents.mail")})
        (alert,) = await session_of(client).store.operators.alerts(9, open_only=True)
        await session_of(client).store.operators.acknowledge(alert.number, "anna")
        await process.look_again(3)
        assert await session_of(client).store.operators.alerts(9, open_only=True) == []
        process.task.cancel()
        await asyncio.gather(process.task, return_exceptions=True)


async def test_a_refusal_of_a_dead_instance_is_settled(tmp_path: Path) -> None:
    app = App("shop", workflows=[fulfil], store=f"sqlite:///{tmp_path}/shop.db")
    async with app.client() as client, app.running() as running:
        for gone in (about("agents.mail", "scheduler-gone"), about("replies.scheduler-gone")):
            await session_of(client).store.host.warn(Alert(kind="queue_refused", message="refused", details=gone))
        process = Process(running)
        await details(client, set())
        process.task.cancel()
        await asyncio.gather(process.task, return_exceptions=True)


async def test_the_reply_queue_of_an_ended_scheduler_raises_no_alert(tmp_path: Path) -> None:
    app = App("shop", workflows=[fulfil], store=f"sqlite:///{tmp_path}/shop.db")
    async with app.client() as client, app.running() as running:
        process = Process(running)
        await asyncio.sleep(0)
        process.refuse("replies.scheduler-gone")
        process.refuse("agents.mail")
        await details(client, {about("agents.mail")})
        await process.look_again(2)
        (alert,) = await session_of(client).store.operators.alerts(9, open_only=False)
        assert alert.details == about("agents.mail")
        process.task.cancel()
        await asyncio.gather(process.task, return_exceptions=True)


async def test_the_alert_of_a_reply_queue_ends_with_its_scheduler_and_comes_back_under_no_name(tmp_path: Path) -> None:
    app = App("shop", workflows=[fulfil], store=f"sqlite:///{tmp_path}/shop.db")
    mortal = Instance(id="scheduler-mortal", role=Role.SCHEDULER, host="here", pid=1, serves=[], capacity=1)
    async with app.client() as client, app.running() as running:
        await session_of(client).store.host.register(mortal, 600.0)
        process = Process(running)
        await asyncio.sleep(0)
        process.refuse(f"replies.{mortal.id}")
        await details(client, {about(f"replies.{mortal.id}")})
        await session_of(client).store.host.retire(mortal.id)
        await details(client, set())
        process.instance = "successor"
        await process.look_again(3)
        assert len(await session_of(client).store.operators.alerts(9, open_only=False)) == 1
        process.task.cancel()
        await asyncio.gather(process.task, return_exceptions=True)


async def test_an_alert_about_a_response_queue_is_of_no_scheduler(tmp_path: Path) -> None:
    app = App("shop", workflows=[fulfil], store=f"sqlite:///{tmp_path}/shop.db")
    async with app.client() as client, app.running() as running:
        process = Process(running)
        await asyncio.sleep(0)
        process.refuse("replies.shop.web")
        await details(client, {about("replies.shop.web")})
        await process.look_again(3)
        await details(client, {about("replies.shop.web")})
        process.task.cancel()
        await asyncio.gather(process.task, return_exceptions=True)
