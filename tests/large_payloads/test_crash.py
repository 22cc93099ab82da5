"""A process that is killed between object and commit, or between the deletion of a task and that of its objects."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from stepward.client import session_of
from tests.large_payloads.shop import application, large
from tests.large_payloads.test_deletion import objects
from tests.until import until

pytestmark = pytest.mark.servers
KILLED = 137

SUBMIT = """
import asyncio, sys
from tests.large_payloads.shop import application, large

async def main() -> None:
    app = application(sys.argv[1], sys.argv[2])
    async with app.running(supervisor=False), app.client() as client:
        await (await client.submit("child", large("card"), id="c")).result(timeout=30)

asyncio.run(main())
"""
DELETE = """
import asyncio, sys
from tests.large_payloads.shop import application

async def main() -> None:
    app = application(sys.argv[1], sys.argv[2])
    async with app.running(supervisor_every="50ms"), app.client() as client:
        await client.delete("id = 'c'")
        await asyncio.sleep(60)

asyncio.run(main())
"""


def ran(program: str, store: str, address: str, failpoint: str | None = None) -> int:
    environment = {**os.environ, **({"STEPWARD_FAILPOINT": failpoint} if failpoint else {})}
    root = Path(__file__).parents[2]
    command = [sys.executable, "-c", program, store, address]
    return subprocess.run(command, env=environment, cwd=root, timeout=60, check=False).returncode


@pytest.mark.parametrize("nth", [1, 2])
async def test_killed_after_an_object_was_put_the_task_is_done_by_another_process(nth: int, tmp_path: Path) -> None:
    store, address = f"sqlite:///{tmp_path / 'shop.db'}", f"file://{tmp_path / 'large'}"
    assert ran(SUBMIT, store, address, f"objects.put.after:{nth}") == KILLED
    app = application(store, address)
    async with app.running(), app.client() as client:
        task = await client.submit("child", large("card"), id="c")
        assert await task.result(timeout=30) == large("noted card")


@pytest.mark.parametrize("failpoint", ["objects.delete.before", "objects.delete.after"])
async def test_killed_between_the_deletion_of_a_task_and_of_its_objects_both_go(failpoint: str, tmp_path: Path) -> None:
    folder = tmp_path / "large"
    store, address = f"sqlite:///{tmp_path / 'shop.db'}", f"file://{folder}"
    assert ran(SUBMIT, store, address) == 0
    assert ran(DELETE, store, address, failpoint) == KILLED
    app = application(store, address)

    async def left() -> tuple[list[str], list[str]]:
        return objects(folder), await session_of(client).store.supervisor.deleted_owners(9)

    async with app.running(supervisor_every="50ms"), app.client() as client:
        await until(left, lambda found: found == ([], []))
