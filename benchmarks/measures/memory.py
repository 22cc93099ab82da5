"""What tasks that wait for a signal take of memory: 100,000 kept there and let go, and a million."""

from __future__ import annotations

import os
import time
from pathlib import Path

from benchmarks.application import make_app, waiting
from benchmarks.store_locations import Place
from benchmarks.store_queries import until
from stepward import App, Client, TaskHandle

WAITING = 100_000
BATCH = 10_000
MILLION = 1_000_000
LET_GO = "select count(*) from {task} where state = 'waiting' and locked_by is null"

Figures = dict[str, float]


async def active(place: Place) -> Figures:
    """All tasks kept in memory."""
    return await _waiting(make_app(await place.fresh(), evict_after="never"), kept=True)


async def evicted(place: Place) -> Figures:
    """The same, let go from memory."""
    return await _waiting(make_app(await place.fresh(), evict_after=0), kept=False)


async def million(place: Place) -> Figures:
    """A million of them, let go a minute after they began to wait, as by default, and one that is woken."""
    app = make_app(await place.fresh())
    figures: Figures = {}
    async with app.running(), app.client() as client:
        began = time.perf_counter()
        handles = await _submitted(client, MILLION)
        figures["submitted_s"] = time.perf_counter() - began
        await until(app.settings.store, "select count(*) from {task} where state = 'waiting'", MILLION)
        figures |= {"all_wait_s": time.perf_counter() - began, "busy_mib": resident_mib()}
        await until(app.settings.store, LET_GO, MILLION)
        figures["rss_mib"] = resident_mib()
        woken = time.perf_counter()
        await handles[0].signal("go", 1)
        await handles[0].result()
        figures["woken_ms"] = 1000 * (time.perf_counter() - woken)
    return figures


def resident_mib() -> float:
    """The memory of this process that is in RAM, in MiB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


async def _waiting(app: App, *, kept: bool) -> Figures:
    before = resident_mib()
    async with app.running() as running, app.client() as client:
        await _submitted(client, WAITING)
        scheduler = running.host.scheduler
        assert scheduler is not None
        held = "not null" if kept else "null"
        query = f"select count(*) from {{task}} where state = 'waiting' and locked_by is {held}"
        await until(app.settings.store, query, WAITING)
        mib = resident_mib()
        each = (mib - before) * 2**20 / WAITING
        held_now = float(scheduler.held)
        return {"tasks": float(WAITING), "rss_mib": mib, "rss_before_mib": before, "bytes_each": each, "held": held_now}


async def _submitted(client: Client, count: int) -> list[TaskHandle[int]]:
    """Submits so many tasks, and returns the handles of the last batch."""
    handles: list[TaskHandle[int]] = []
    for start in range(0, count, BATCH):
        handles = await client.submit_many(waiting, [(n,) for n in range(start, start + BATCH)])
    return handles
