"""A Supervisor over a store in memory, with all that it tells and offers on record."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from stepward.clock import Clock, Environment, SystemClock
from stepward.errors import AlertRefused
from stepward.events import AlertSink, Event, EventReceiver, Observers
from stepward.model.alerts.alert_routing import EVERY_ALERT, AlertNews, AlertRoute
from stepward.model.records import Alert
from stepward.settings import Settings
from stepward.store.contract import SupervisorStore
from stepward.supervisor import Supervisor
from stepward.supervisor.archives.folder_archive import Archive
from tests.supervisor.fake_store import FakeStore


@dataclass
class FakeSink:
    name: str
    took: list[int] = field(default_factory=list)
    asked: list[int] = field(default_factory=list)
    refuses: Callable[[Alert], bool] = lambda alert: False
    route: AlertRoute = EVERY_ALERT
    resolved: list[int] = field(default_factory=list)
    description: str = "fake"

    async def deliver(self, alert: Alert, news: AlertNews) -> None:
        self.asked.append(alert.number)
        if self.refuses(alert):
            raise AlertRefused("receiver is down")
        (self.took if news is AlertNews.RAISED else self.resolved).append(alert.number)


class Bench:
    """What a test holds in its hands."""

    def __init__(self) -> None:
        self.store = FakeStore()
        self.told: list[Event] = []
        self.passed: list[str] = []
        self.made: list[Supervisor] = []

    def supervisor(
        self,
        *sinks: AlertSink,
        webhooks: Sequence[EventReceiver] = (),
        archive: Archive | None = None,
        clock: Clock | None = None,
        **settings: Any,
    ) -> Supervisor:
        made = Supervisor(
            self.store,
            instance="s1",
            settings=Settings(**settings),
            observers=Observers(self.told.append),
            environment=Environment(clock=clock or SystemClock(), failpoint=self.passed.append),
            sinks=sinks,
            webhooks=webhooks,
            archive=archive,
        )
        self.made.append(made)
        return made

    def names(self) -> list[str]:
        return [event.name for event in self.told]


async def beside() -> None:
    """Wait for the end of what goes on beside the passes."""
    if others := asyncio.all_tasks() - {asyncio.current_task()}:
        _, pending = await asyncio.wait(others, timeout=10)
        assert not pending


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    bench = Bench()
    yield bench
    for made in bench.made:
        await made.close()


def supervisor_on(store: SupervisorStore, environment: Environment) -> Supervisor:
    return Supervisor(
        store, instance="s1", settings=Settings(), observers=Observers(), environment=environment, sinks=[]
    )
