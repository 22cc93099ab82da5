"""A store that an earlier version left with tasks under way is migrated, and each task ends as it would have there."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import apsw
import pytest

from stepward import TaskUndone
from stepward.store.sqlite.schema.migration import migrations
from tests.scheduler.world import World
from tests.store.migrated import shop
from tests.store.places import execute

RECORDED = Path(__file__).with_name("46f8f8d.sqlite.sql")

pytestmark = pytest.mark.by_migrations


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The recorded store, where the world's applications look for theirs."""
    file = tmp_path / "tasks.db"
    with closing(apsw.Connection(str(file))) as connection:
        connection.execute(RECORDED.read_text("utf-8")).fetchall()
    return file


@pytest.fixture(autouse=True)
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the operations were called for since the migration."""
    found: list[str] = []
    monkeypatch.setattr(shop, "CALLS", found)
    return found


async def test_tasks_under_way_end_after_the_migration(world: World, file: Path, calls: list[str]) -> None:
    assert execute(file, "select value from stepward_meta where key = 'schema_version'") == [(5,)]
    app = world.app([shop.fulfil, shop.approved, shop.later, shop.parent], [shop.payments, shop.parcels])
    await world.run(app)
    client = await world.client(app)
    await client.task("waiting").signal("approval", "by Ann")
    ids = ("shipping", "family", "sleeping", "waiting")
    assert [await client.task(id).result(timeout="1h") for id in ids] == [
        "parcel-shipping",
        "parcel-family",
        "parcel-sleeping",
        "by Ann",
    ]
    with pytest.raises(TaskUndone):
        await client.task("refused").result(timeout="1h")
    assert sorted(calls) == ["refund refused", "ship family", "ship shipping", "ship sleeping"]
    assert execute(file, "select value from stepward_meta where key = 'schema_version'") == [(migrations()[-1][0],)]
