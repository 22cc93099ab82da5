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
from tests.store.migrated.record import record
from tests.store.postgres.worlds import Database

RECORDED = sorted((Path(__file__).parents[1] / "migrated").glob("*.postgresql.sql"))
RECORDED_AT = re.compile(r"killed(?: at (\d+))?")
FIRST_AT = 1_795_663_545
"""When the first one was recorded, which does not say so itself."""
INSTANT = re.compile(r"\b\d{10}(\.\d+)?\b")
LONGEST = 7 * 86_400.0
"""Most seconds between the recording and an instant in it."""
AGO = 120.0
"""Seconds since which the recorded processes are gone: the leases have run out, and the task that sleeps is due."""

pytestmark = pytest.mark.servers


def recorded(text: str) -> str:
    """The store as if it had been left two minutes ago."""
    title = RECORDED_AT.search(text)
    assert title is not None
    at = float(title[1] or FIRST_AT)
    later = time.time() - AGO - at

    def shifted(found: re.Match[str]) -> str:
        return repr(float(found[0]) + later) if abs(float(found[0]) - at) < LONGEST else found[0]

    return INSTANT.sub(shifted, text)


@pytest.mark.parametrize("file", RECORDED, ids=lambda path: path.name.partition(".postgresql")[0])
async def test_tasks_under_way_end_after_the_migration(
    file: Path, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    await each_task_ends(file, database, monkeypatch)


@pytest.fixture
def of_this_version(tmp_path: Path) -> Path:
    """The file that this version records."""
    return record(tmp_path, "next")[1]


@pytest.mark.faults
async def test_tasks_of_a_store_that_this_version_records_end(
    of_this_version: Path, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    await each_task_ends(of_this_version, database, monkeypatch)


async def each_task_ends(file: Path, database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    monkeypatch.setattr(shop, "CALLS", calls)
    connection = await asyncpg.connect(database.address)
    await connection.execute(recorded(file.read_text("utf-8")))
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
