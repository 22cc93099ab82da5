"""A Supervisor over a million live tasks: passes that find nothing due, and one that finds a tenth as many expired."""

from __future__ import annotations

import time

from benchmarks.application import make_app
from benchmarks.floor import floor
from benchmarks.floor.rows import INSTANCE
from benchmarks.loads import median
from benchmarks.store_locations import Place
from benchmarks.store_queries import once
from stepward.clock import Environment
from stepward.events import Observers
from stepward.model.records import Instance, Role
from stepward.store.contract import Store
from stepward.store.store_at_address import open_store
from stepward.supervisor.supervisor import Supervisor

LIVE = 1_000_000
EXPIRED = 100_000
PASSES = 20
FOREVER = 1e9
MILLISECONDS = 1e3
DECIDED = "select count(*) from {step} where state = 'to_repeat'"

Figures = dict[str, float]


async def supervising(place: Place, *, live: int = LIVE, expired: int = EXPIRED, passes: int = PASSES) -> Figures:
    """Milliseconds of a pass with none expired, and the seconds until each of the expired has its decision."""
    address = await place.fresh()
    environment = Environment()
    async with floor(address, app="bench") as raw:
        await raw.live_tasks(live)
        store = open_store(address, app="bench", environment=environment)
        await store.open()
        try:
            await store.host.register(
                Instance(id=INSTANCE, role=Role.SCHEDULER, host="", pid=0, serves=["ten@1"]), FOREVER
            )
            supervisor = _supervisor(store, address, environment)
            await supervisor.turn()
            idle = [await _seconds(supervisor) for _ in range(passes)]
            await raw.live_tasks(expired, complete_by=1.0)
            began, used = time.perf_counter(), time.process_time() + place.server_seconds()
            # Another one: to the first, which did nothing while the rows were made, it would look like an outage.
            report = await _supervisor(store, address, environment).once()
            seconds = time.perf_counter() - began
            cpu = time.process_time() + place.server_seconds() - used
        finally:
            await store.close()
    (decided,) = await once(address, DECIDED)
    assert report.judged == decided == expired, (report, decided)
    return {
        "idle_pass_ms": median(idle) * MILLISECONDS,
        "slowest_pass_ms": max(idle) * MILLISECONDS,
        "decided_s": seconds,
        "decided_cpu_s": cpu,
    }


def _supervisor(store: Store, address: str, environment: Environment) -> Supervisor:
    settings = make_app(address).settings
    return Supervisor(
        store.supervisor,
        instance="supervisor",
        settings=settings,
        observers=Observers(),
        environment=environment,
        sinks=[],
    )


async def _seconds(supervisor: Supervisor) -> float:
    began = time.perf_counter()
    await supervisor.turn()
    return time.perf_counter() - began
