"""Row 40: a lease counts from before its renewal was sent, however slow the answer is."""

from __future__ import annotations

from pathlib import Path

from stepward.client import Endings
from stepward.clock import Environment, SystemClock
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


async def test_a_lease_counts_from_before_its_renewal_was_sent(tmp_path: Path) -> None:
    clock = HandClock()
    environment = Environment(clock=clock)
    store = SlowStore(str(tmp_path / "store.db"), app="leases", environment=environment)
    await store.open()
    store.delay(clock)
    parts = Parts(
        app="leases",
        registry=Registry([], []),
        agents=(),
        submissions=(),
        schedules=(),
        queues=StoreQueues(store.messages, poll=1.0),
        settings=Settings(lease=LEASE),
        environment=environment,
        observers=Observers(),
        store=store,
        transport=MemoryTransport(store.now),
        hints=Hints(),
        endings=Endings(),
        sinks=(),
    )
    leases = Leases(parts, nobody)
    sent_at = store.now()
    instance = await leases.register(Role.AGENT, [], 1)
    assert store.now() == sent_at + SLOW
    assert leases.until(instance) == sent_at + LEASE
    await store.close()
