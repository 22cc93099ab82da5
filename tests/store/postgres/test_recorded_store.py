"""A store that an earlier version left on PostgreSQL, with tasks under way, is migrated, and each task ends."""

from __future__ import annotations

import asyncio
import re
import time
from pathlib import Path

import asyncpg
import pytest

from stepward import App, TaskUndone
from tests.store.migrated import shop
from tests.store.postgres.worlds import Database

RECORDED = Path(__file__).parents[1] / "migrated" / "46f8f8d.postgresql.sql"
RECORDED_AT = 1_795_663_545
INSTANT = re.compile(r"\b17956\d{5}(\.\d+)?\b")
AGO = 120.0
"""Seconds since which the recorded processes are gone: the leases have run out, and the task that sleeps is due."""

pytestmark = pytest.mark.servers


def recorded() -> str:
    """The store as if it had been left two minutes ago."""
    later = time.time() - AGO - RECORDED_AT
    return INSTANT.sub(lambda found: repr(float(found[0]) + later), RECORDED.read_text("utf-8"))


async def test_tasks_under_way_end_after_the_migration(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    monkeypatch.setattr(shop, "CALLS", calls)
    connection = await asyncpg.connect(database.address)
    await connection.execute(recorded())
    await connection.close()
    app = App(
        "shop",
        workflows=[shop.fulfil, shop.approved, shop.later, shop.parent],
        agents=[shop.payments, shop.parcels],
        store=database.address,
        lease="1s",
    )
    async with app.running(), app.client() as client:
        await client.task("waiting").signal("approval", "by Ann")
        ids = ("shipping", "family", "sleeping", "waiting")
        results = await asyncio.gather(*[client.task(id).result(timeout=60) for id in ids])
        with pytest.raises(TaskUndone):
            await client.task("refused").result(timeout=60)
    assert results == ["parcel-shipping", "parcel-family", "parcel-sleeping", "by Ann"]
    assert sorted(calls) == ["refund refused", "ship family", "ship shipping", "ship sleeping"]
