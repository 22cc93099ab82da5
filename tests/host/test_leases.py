"""Row 40: a lease counts from before its renewal was sent, however slow the answer is."""

from __future__ import annotations

from pathlib import Path

import pytest

from stepward.client import Endings
from stepward.clock import Environment, SystemClock
from stepward.errors import StoreUnavailable
from stepward.events import Hints, Observers
from stepward.host import Parts
from stepward.host.leases import Leases
from stepward.model.records import Instance, Role
from stepward.settings import Settings
from stepward.store.sqlite.store import SqliteStore
from stepward.transport.memory import MemoryTransport
from stepward.transport.queues import StoreQueues
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

    clock: HandClock

    def delay(self, clock: HandClock) -> None:
        register = self.register

        async def slowly(instance: Instance, lease: float) -> None:
            await register(instance, lease)
            clock.instant += SLOW

        self.register = slowly


async def nobody(instance: str) -> None:
    """Nobody listens."""


async def away(instance: str) -> None:
    raise StoreUnavailable("store: expected it, found it away")


async def test_a_lease_counts_from_before_its_renewal_was_sent(tmp_path: Path) -> None:
    clock = HandClock()
    store = await opened(tmp_path, clock)
    store.delay(clock)
    leases = Leases(parts_on(store), nobody)
    sent_at = store.now()
    instance = await leases.register(Role.AGENT, [], 1)
    assert store.now() == sent_at + SLOW
    assert leases.until(instance) == sent_at + LEASE
    await store.close()


async def test_an_instance_given_up_while_the_store_is_away_is_given_up_when_it_is_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else whoever would take over its tasks waits for its lease."""
    store = await opened(tmp_path, HandClock())
    leases = Leases(parts_on(store), nobody)
    first, second = [await leases.register(Role.AGENT, [], 1) for _ in range(2)]
    with monkeypatch.context() as outage:
        outage.setattr(store, "retire", away)
        await leases.retire([first])
    await leases.retire([second])
    assert [instance.id for instance in await store.instances() if instance.alive] == []
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
