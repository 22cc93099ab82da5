"""Real processes on one file: writing at once, killed in the middle, opening at once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from stepward.store.sqlite.schema.migration import migrations
from tests.store.listing import listed
from tests.store.places import execute, opened

WRITER = """
import asyncio, os, sys
from stepward.clock import Environment, ExitAtFailpoint, no_failpoint
from stepward.model.records import Instance, Role, Task
from stepward.store.contract import Change
from stepward.store.sqlite import SqliteStore

path, name, count, nth = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
point = ExitAtFailpoint("store.commit.before", nth) if nth else no_failpoint
environment = Environment(failpoint=point)


async def main() -> None:
    store = SqliteStore(path, app="shop", environment=environment)
    await store.open()
    instance = Instance(id=name, role=Role.SCHEDULER, host="here", pid=os.getpid(), serves=["order@1"])
    await store.host.register(instance, 60)
    for number in range(count):
        uid = environment.new_uid()
        task = Task(uid=uid, id=f"{name}-{number}", workflow="order", version="1", created_at=store.now())
        await store.client.submit([task])
        print(number, flush=True)
        await store.scheduler.claim(name, [("order", "1")], 1)
    await store.close()


asyncio.run(main())
"""


def writer(file: Path, name: str, count: int, nth: int = 0) -> subprocess.Popen[str]:
    """A process that submits and claims ``count`` tasks, or dies in its ``nth`` commit."""
    command = [sys.executable, "-c", WRITER, str(file), name, str(count), str(nth)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


async def test_processes_that_write_at_once_lose_nothing_and_share_nothing(tmp_path: Path) -> None:
    file = tmp_path / "store.db"
    writers = [writer(file, f"w{number}", 100) for number in range(4)]
    for process in writers:
        process.communicate()
    assert [process.returncode for process in writers] == [0, 0, 0, 0]
    assert execute(file, "pragma integrity_check") == [("ok",)]
    owners = execute(file, "select locked_by, count(*) from stepward_task group by 1 order by 1")
    assert owners == [(f"w{number}", 100) for number in range(4)]


async def test_a_process_killed_in_a_commit_leaves_every_confirmed_commit(tmp_path: Path) -> None:
    file = tmp_path / "store.db"
    # Commits: one for each migration, clock, registration, then one each for a submission and its claim.
    process = writer(file, "w", 100, nth=len(migrations()) + 2 + 2 * 20)
    told, _ = process.communicate()
    assert process.returncode == 137
    assert told.split() == [f"{number}" for number in range(20)]
    assert execute(file, "pragma integrity_check") == [("ok",)]
    store = await opened(file)
    found = await listed(store)
    assert {task.id for task in found} == {f"w-{number}" for number in range(20)}
    await store.close()


async def test_a_process_killed_in_the_migration_leaves_a_new_store(tmp_path: Path) -> None:
    file = tmp_path / "store.db"
    process = writer(file, "w", 1, nth=1)
    process.communicate()
    assert process.returncode == 137
    assert execute(file, "select * from sqlite_schema") == []
    store = await opened(file)
    assert await listed(store) == []
    await store.close()
