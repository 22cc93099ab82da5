"""Scheduler, Agents and Supervisor in processes of their own, while the server's clock is set."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import Any

import pytest

from stepward import Accepted, Agent, App, Message, Supervision, workflow
from stepward.events import Event
from stepward.store.contract import Transaction
from stepward.store.postgres import store as store_module
from stepward.store.postgres.engine.clock import StoreClock
from tests.store.postgres.worlds import Database
from tests.tiers import sampled

pytestmark = pytest.mark.servers

SETTINGS: dict[str, Any] = {"lease": "3s", "supervisor_every": "50ms", "poll": "100ms", "transport": "store"}
WITHIN = 120.0
LAYOUTS = [
    ({"scheduler"}, {"agents"}, {"supervisor"}, {"submission"}),
    ({"scheduler", "supervisor"}, {"agents"}),
    ({"scheduler", "agents"}, {"supervisor"}),
    ({"scheduler", "agents", "supervisor", "submission"},),
]
ALL = {"scheduler", "agents", "supervisor", "submission"}


class SetClock(StoreClock):
    """Follows a server whose clock the test sets: one for all processes."""

    set_by = 0.0

    def heard(self, server: float, sent: float) -> None:
        super().heard(server + SetClock.set_by, sent)


class Works:
    """What a step waits for, and what the processes tell."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.go_on = asyncio.Event()
        self.told: list[tuple[int, Event]] = []
        self.more = asyncio.Event()

    def hear(self, process: int, event: Event) -> None:
        self.told.append((process, event))
        self.more.set()

    async def tell(self, name: str, processes: int) -> None:
        """Waits until so many processes have reported it."""
        async with asyncio.timeout(WITHIN):
            while len({process for process, event in self.told if event.name == name}) < processes:
                self.more.clear()
                await self.more.wait()


def application(address: str, works: Works, process: int, *, complete_by: str = "2m") -> App:
    desk = Agent("desk")

    @desk.operation(complete_by=complete_by)
    async def book(number: int) -> int:
        works.begun.set()
        await works.go_on.wait()
        return number

    @workflow(supervision=Supervision(threshold=1), complete_by="10h")
    async def journey() -> list[int]:
        return [await book(number) for number in range(3)]

    async def accept(message: Message, transaction: Transaction) -> Accepted:
        return Accepted(journey)

    app = App("shop", workflows=[journey], agents=[desk], store=address, **SETTINGS)
    app.submission("orders", accept=accept)
    app.observers.add(lambda event: works.hear(process, event))
    return app


@pytest.mark.parametrize("seconds", sampled((-60.0, -15.0, 15.0, 60.0), -60.0, 60.0))
@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: "+".join("-".join(sorted(roles)) for roles in layout))
async def test_a_clock_that_is_set_costs_no_instance_and_no_task(
    database: Database, monkeypatch: pytest.MonkeyPatch, layout: tuple[set[str], ...], seconds: float
) -> None:
    monkeypatch.setattr(store_module, "StoreClock", SetClock)
    monkeypatch.setattr(SetClock, "set_by", 0.0)
    works = Works()
    async with AsyncExitStack() as stack:
        for process, roles in enumerate(layout):
            app = application(database.address, works, process)
            await stack.enter_async_context(app.running(**{role: role in roles for role in ALL}))
        client = await stack.enter_async_context(application(database.address, works, -1).client())
        handle = await client.submit("journey", id="before")
        async with asyncio.timeout(WITHIN):
            await works.begun.wait()
        SetClock.set_by = seconds
        await works.tell("clock.jumped", len(layout))
        await works.tell("supervisor.forgave", 1)
        works.go_on.set()
        assert await handle.result(timeout=WITHIN) == [0, 1, 2]
        assert await client.alerts() == []
    assert [event for _, event in works.told if event.name in {"instance.fenced", "steps.judged", "step.failed"}] == []
