"""A store that an earlier version left with tasks under way is migrated, and each task ends as it would have there."""

from __future__ import annotations

import re
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from stepward import TaskUndone
from stepward.store.sqlite.schema.migration import migrations
from tests.scheduler.world import World
from tests.store.migrated import shop
from tests.store.migrated.record import record
from tests.store.places import execute

RECORDED = sorted(Path(__file__).parent.glob("*.sqlite.sql"))

SECRET = re.compile(r"(completion_key|request_key)', *[xX]?'(?!0{64}')")

pytestmark = pytest.mark.by_migrations


@pytest.fixture(params=RECORDED, ids=lambda path: path.name.partition(".sqlite")[0])
def file(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The recorded store, where the world's applications look for theirs."""
    return restored(request.param, tmp_path / "tasks.db")


def restored(recorded: Path, file: Path) -> Path:
    with closing(apsw.Connection(str(file))) as connection:
        connection.execute(recorded.read_text("utf-8")).fetchall()
    return file


@pytest.fixture(autouse=True)
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the operations were called for since the migration."""
    found: list[str] = []
    monkeypatch.setattr(shop, "CALLS", found)
    return found


async def test_tasks_under_way_end_after_the_migration(world: World, file: Path, calls: list[str]) -> None:
    await each_task_ends(world, calls)
    assert execute(file, "select value from stepward_meta where key = 'schema_version'") == [(migrations()[-1][0],)]


async def each_task_ends(world: World, calls: list[str]) -> None:
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


@pytest.fixture
def of_this_version(tmp_path: Path) -> list[Path]:
    """The files that this version records."""
    return record(tmp_path, "next")


@pytest.mark.faults
@pytest.mark.servers
async def test_tasks_of_a_store_that_this_version_records_end(
    of_this_version: list[Path], world: World, tmp_path: Path, calls: list[str]
) -> None:
    assert [path.name for path in of_this_version] == ["next.sqlite.sql", "next.postgresql.sql"]
    assert not any(SECRET.search(path.read_text("utf-8")) for path in of_this_version)
    restored(of_this_version[0], tmp_path / "tasks.db")
    await each_task_ends(world, calls)


def test_a_version_is_recorded_once(tmp_path: Path) -> None:
    (tmp_path / "1.0.0.sqlite.sql").touch()
    with pytest.raises(SystemExit, match=r"expected no store of 1\.0\.0 yet, found .*1\.0\.0\.sqlite\.sql"):
        record(tmp_path, "1.0.0")
