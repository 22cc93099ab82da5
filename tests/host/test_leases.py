"""Row 40: a lease counts from before its renewal was sent, however slow the answer is."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from stepward.client import Endings
from stepward.clock import Environment, SystemClock
from stepward.errors import StoreUnavailable
from stepward.events import Hints, Observers
from stepward.host import Parts
from stepward.host.leases import InstanceLeases
from stepward.model.agents import NO_REPORTS, AgentHealth, Report
from stepward.model.records import Instance, Role
from stepward.settings import Settings
from stepward.store.sqlite.store import SqliteStore
from stepward.transport.memory.memory_transport import MemoryTransport
from stepward.transport.store.store_queues import StoreQueues
from stepward.workflow.registry import Registry

LEASE = 10.0
SLOW = 4.0


class HandClock(SystemClock):
    """A clock that a test sets on."""

    def __init__(self) -> None:
        self.instant = 1000.0

    def boot(self) -> float:
        return self.instant


class SlowStore(SqliteStore):
    """A store whose answers take seconds to arrive."""

    renewed: asyncio.Event

    def delay(self, clock: HandClock) -> None:
        register, renew = self.host.register, self.host.renew

        async def registering(instance: Instance, lease: float) -> None:
            await register(instance, lease)
            clock.instant += SLOW

        async def renewing(
            instances: Sequence[str],
            lease: float,
            reports: Mapping[str, Report] = NO_REPORTS,
            ahead: float | None = None,
        ) -> set[str]:
            alive = await renew(instances, lease, reports, ahead)
            clock.instant += SLOW
            self.renewed.set()
            return alive

        self.renewed = asyncio.Event()
        self.host.register = registering  # type: ignore[method-assign]
        self.host.renew = renewing  # type: ignore[method-assign]


def not_drained() -> None:
    """Accepts no drain."""


async def nobody(instance: str) -> None:
    """Accepts no listener."""


def silence() -> dict[str, Report]:
    """Sends no notification."""
    return {}


async def away(instance: str, *, in_order: bool = True) -> None:
    raise StoreUnavailable("store: expected it, found it away")


async def test_a_lease_counts_from_before_it_was_asked_for(tmp_path: Path) -> None:
    clock = HandClock()
    store = await opened(tmp_path, clock)
    store.delay(clock)
    leases = InstanceLeases(parts_on(store), nobody, silence, not_drained)
    sent_at = store.now()
    instance = await leases.register(Role.AGENT, [], 1)
    assert store.now() == sent_at + SLOW
    assert leases.ends[instance] == sent_at + LEASE
    sent_again_at = store.now()
    keeping = asyncio.create_task(leases.keep())
    leases.report()
    await store.renewed.wait()
    assert store.now() == sent_again_at + SLOW
    assert leases.ends[instance] == sent_again_at + LEASE
    keeping.cancel()
    await asyncio.gather(keeping, return_exceptions=True)
    await store.close()


async def test_an_instance_given_up_while_the_store_is_away_is_given_up_when_it_is_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise a Scheduler that could take over its tasks waits for its lease."""
    store = await opened(tmp_path, HandClock())
    leases = InstanceLeases(parts_on(store), nobody, silence, not_drained)
    first, second = [await leases.register(Role.AGENT, [], 1) for _ in range(2)]
    with monkeypatch.context() as outage:
        outage.setattr(store.host, "retire", away)
        await leases.retire([first])
    await leases.retire([second])
    assert [instance.id for instance in await store.operators.instances() if instance.alive] == []
    await store.close()


async def test_a_changed_report_is_sent_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = await opened(tmp_path, HandClock())
    said: dict[str, Report] = {}
    leases = InstanceLeases(parts_on(store), nobody, lambda: said, not_drained)
    instance = await leases.register(Role.AGENT, ["bank"], 1)
    renewed, renew = asyncio.Event(), store.host.renew

    async def renewing(*given: Any) -> set[str]:
        found = await renew(*given)
        renewed.set()
        return found

    monkeypatch.setattr(store.host, "renew", renewing)
    keeping = asyncio.create_task(leases.keep())
    health = AgentHealth(agent="bank", capacity=1, breaker="open")
    said[instance] = Report(health=[health])
    leases.report()
    # The next beat would be more than three seconds away.
    async with asyncio.timeout(2):
        await renewed.wait()
    (found,) = await store.operators.instances()
    assert found.health == [health]
    keeping.cancel()
    await asyncio.gather(keeping, return_exceptions=True)
    await store.close()


async def opened(folder: Path, clock: HandClock) -> SlowStore:
    store = SlowStore(str(folder / "store.db"), app="leases", environment=Environment(clock=clock))
    await store.open()
    return store


def parts_on(store: SlowStore) -> Parts:
    return Parts(
        app="leases",
        registry=Registry([], []),
        agents=(),
        submissions=(),
        schedules=(),
        queues=StoreQueues(store.messages, poll=1.0),
        settings=Settings(lease=LEASE),
        environment=Environment(clock=HandClock()),
        observers=Observers(),
        store=store,
        transport=MemoryTransport(store.now),
        hints=Hints(),
        endings=Endings(),
        sinks=(),
    )
