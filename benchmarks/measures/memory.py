"""What 100,000 tasks that wait for a signal take of memory, kept there and let go."""

from __future__ import annotations

import os
from pathlib import Path

from benchmarks.application import make_app, waiting
from benchmarks.store_locations import Place
from benchmarks.store_queries import until
from stepward import App

WAITING = 100_000
BATCH = 10_000

Figures = dict[str, float]


async def active(place: Place) -> Figures:
    """All tasks kept in memory."""
    return await _waiting(make_app(await place.fresh(), evict_after="never"), kept=True)


async def evicted(place: Place) -> Figures:
    """The same, let go from memory."""
    return await _waiting(make_app(await place.fresh(), evict_after=0), kept=False)


def resident_mib() -> float:
    """The memory of this process that is in RAM, in MiB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


async def _waiting(app: App, *, kept: bool) -> Figures:
    before = resident_mib()
    async with app.running() as running, app.client() as client:
        for start in range(0, WAITING, BATCH):
            await client.submit_many(waiting, [(n,) for n in range(start, start + BATCH)])
        scheduler = running.host.scheduler
        assert scheduler is not None
        held = "not null" if kept else "null"
        query = f"select count(*) from {{task}} where state = 'waiting' and locked_by is {held}"
        await until(app.settings.store, query, WAITING)
        mib = resident_mib()
        return {"tasks": float(WAITING), "rss_mib": mib, "rss_before_mib": before, "held": float(scheduler.held)}
