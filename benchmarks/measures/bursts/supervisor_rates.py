"""How fast a running Supervisor works off a pile: deadlines that have passed, alerts, tasks of a dead instance."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from benchmarks.application import make_app, one, service
from benchmarks.floor import floor
from benchmarks.floor.rows import INSTANCE
from benchmarks.measures.bursts.loop_meter import LoopMeter, loop_meter
from benchmarks.store_locations import Place
from benchmarks.store_queries import until
from stepward import App, workflow
from stepward.clock import Environment
from stepward.model.records import Instance, Role
from stepward.store.store_at_address import open_store

PART = 5_000
HANDLED = "select count(*) from {task} where deadline is null"
FREED = "select count(*) from {task} where locked_by is null"
IN_ERROR = "select count(*) from {task} where state = 'error'"
DELIVERED = "select count(*) from {alert} where delivered_at is not null"
SHORT = 0.01
"""Seconds of a lease, or until a deadline."""

Figures = dict[str, float]


@workflow()
async def failing(n: int) -> None:
    raise ValueError(str(n))


async def supervisor_rates(
    place: Place, *, deadlines: int = 10_000, alerts: int = 2_000, freed: int = 50_000
) -> Figures:
    """Of each so many a second, and the longest time for which the loop was held meanwhile, in milliseconds."""
    return {
        **await _deadlines(place, deadlines),
        **await _alerts(place, alerts),
        **await _freed(place, freed),
    }


async def _deadlines(place: Place, count: int) -> Figures:
    address = await place.fresh()
    app = make_app(address)
    async with app.client() as client:
        for first in range(0, count, PART):
            inputs = [(str(n),) for n in range(min(PART, count - first))]
            await client.submit_many(one, inputs, complete_by=SHORT)
    await asyncio.sleep(SHORT)
    return await _rate(app, "deadlines", HANDLED, count)


async def _alerts(place: Place, count: int) -> Figures:
    """Each task ends in error, with an alert of its own; the log is the sink."""
    address = await place.fresh()
    app = App("bench", workflows=[failing], agents=[service], store=address)
    logging.disable(logging.CRITICAL)
    try:
        async with app.running(supervisor=False), app.client() as client:
            await client.submit_many(failing, [(n,) for n in range(count)])
            await until(address, IN_ERROR, count)
        return await _rate(app, "alerts", DELIVERED, count)
    finally:
        logging.disable(logging.NOTSET)


async def _freed(place: Place, count: int) -> Figures:
    address = await place.fresh()
    app = make_app(address)
    async with floor(address, app="bench") as raw:
        await raw.live_tasks(count)
    store = open_store(address, app="bench", environment=Environment())
    await store.open()
    try:
        await store.host.register(Instance(id=INSTANCE, role=Role.SCHEDULER, host="", pid=0, serves=["ten@1"]), SHORT)
    finally:
        await store.close()
    await asyncio.sleep(SHORT)
    return await _rate(app, "freed", FREED, count)


async def _rate(app: App, name: str, query: str, count: int) -> Figures:
    async with _supervising(app) as meter:
        began = time.perf_counter()
        await until(app.settings.store, query, count)
        seconds = time.perf_counter() - began
        return {f"{name}_per_s": count / seconds, **meter.figures(name)}


@asynccontextmanager
async def _supervising(app: App) -> AsyncIterator[LoopMeter]:
    with loop_meter() as meter:
        async with app.running(scheduler=False, agents=False):
            meter.reset()
            yield meter
