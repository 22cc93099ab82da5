"""``delete`` reaches the archive, also where a process is killed in the middle, and the audit still verifies."""

from __future__ import annotations

import asyncio
import gzip
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from stepward import Agent, App, Client, Unrecoverable, workflow
from stepward.client import session_of
from stepward.store.contract import BATCH_ENDS, Outlived
from stepward.supervisor.archives.folder_archive import FolderArchive
from tests.cli.processes import asked
from tests.until import until

pytestmark = pytest.mark.servers
SECRET = "canary-7d1e"
KILLED = 137
ROOT = Path(__file__).parents[2]
PROGRAM = """
import asyncio, sys
from tests.supervisor.test_archive_erasure import application

async def main() -> None:
    async with application(sys.argv[1], sys.argv[2]).running(supervisor_every="50ms"):
        await asyncio.sleep(60)

asyncio.run(main())
"""


bank = Agent("bank")


@bank.operation()
async def pay(card: str) -> str:
    if card == "bad":
        raise Unrecoverable("no such card")
    return card


@workflow
async def order(card: str) -> str:
    return await pay(card)


def application(store: str, archive: str) -> App:
    """An application whose audit is archived after a second, and whose tasks stay in the store."""
    rules = {"retention": "1s", "retention_rules": "order=365d"}
    settings: dict[str, Any] = {"store": store, "archive": archive, **rules}
    return App("shop", workflows=[order], agents=[bank], **settings)


def texts(archive: Path) -> str:
    return "".join(gzip.decompress(file.read_bytes()).decode() for file in archive.rglob("*.jsonl.gz"))


async def archived(store: str, archive: Path) -> str:
    """Archive lines of two tasks that stay in the store, and acts on them; a batch is to delete one of them."""
    archive.mkdir()
    app = application(store, str(archive))
    async with app.running(supervisor=False), app.client() as client:
        for id in ("gone", "kept"):
            task = await client.submit(order, "bad", id=id)
            await until(task.status, lambda now: now.state == "error")
            await task.resubmit(input=[f"{SECRET} {id}"])
            await task.result(timeout=30)
        await keep_lines(client, archive)

    async def pruned() -> str:
        await app.supervise_once()
        return "".join(str(file) for file in archive.glob("records/*/*.gz"))

    await until(pruned)
    async with app.client() as client:
        found = await client.batches.preview("delete", "id = 'gone'")
        await client.batches.start(found, rate=500)
        return (await client.task("gone").status()).uid


async def keep_lines(client: Client, archive: Path) -> None:
    """As a process that died between the archive and the deletion."""
    store = session_of(client).store
    tasks = [await store.client.task(id) for id in ("gone", "kept")]
    batch = [
        Outlived(task.uid, task.finished_at) for task in tasks if task is not None and task.finished_at is not None
    ]
    assert await FolderArchive(archive, "died").keep(store.supervisor, batch)


async def done(store: str, archive: Path) -> None:
    app = application(store, str(archive))
    async with app.running(supervisor_every="50ms"), app.client() as client:
        await until(client.batches.recent, lambda found: all(batch.state in BATCH_ENDS for batch in found))
        await until(lambda: left(client))


async def left(client: Client) -> bool:
    return not await session_of(client).store.supervisor.erased_tasks(9)


async def check_erased(store: str, archive: Path, uid: str) -> None:
    """The archive has nothing of the deleted task but marked acts, all of the other, and the audit verifies."""
    text = texts(archive)
    assert f"{SECRET} gone" not in text
    assert f"{SECRET} kept" in text
    assert f'"uid":"{uid}"' not in text
    assert '"details":{"erased":true}' in text
    assert not list(archive.rglob("*.part"))
    await verify(store, archive)


async def verify(store: str, archive: Path) -> None:
    words = ("audit", "verify", "--archive", str(archive), "--store", store)
    verified = await asyncio.to_thread(asked, archive, *words)
    assert verified.returncode == 0, verified.stdout + verified.stderr


async def test_delete_reaches_what_the_archive_has_of_a_task(tmp_path: Path) -> None:
    store, archive = f"sqlite:///{tmp_path / 'shop.db'}", tmp_path / "archive"
    uid = await archived(store, archive)
    text = texts(archive)
    assert text.count(f"{SECRET} gone") > 2
    assert f'"uid":"{uid}"' in text
    await done(store, archive)
    await check_erased(store, archive, uid)


@pytest.mark.parametrize("failpoint", ["archive.erase.before:1", "archive.erase.after:1", "archive.erase.after:2"])
async def test_killed_in_the_middle_of_an_erasure_the_next_process_ends_it(failpoint: str, tmp_path: Path) -> None:
    store, archive = f"sqlite:///{tmp_path / 'shop.db'}", tmp_path / "archive"
    uid = await archived(store, archive)
    environment = {**os.environ, "STEPWARD_FAILPOINT": failpoint}
    command = [sys.executable, "-c", PROGRAM, store, str(archive)]
    assert subprocess.run(command, env=environment, cwd=ROOT, timeout=120, check=False).returncode == KILLED
    await verify(store, archive)
    await done(store, archive)
    await check_erased(store, archive, uid)
