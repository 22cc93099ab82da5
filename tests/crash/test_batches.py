"""A Supervisor that is killed while it carries a batch out: no task is asked twice, and none is left out."""

from __future__ import annotations

import asyncio
import os
import sys
from collections import Counter
from collections.abc import AsyncIterator

import pytest

from stepward import App, Batch, Client, workflow
from stepward.store.contract import BatchState
from tests.crash.conftest import BOTH

pytestmark = pytest.mark.servers

COUNT = 120
"""Tasks of a batch: more than two transactions ask."""
KILLED = 137
POINTS = ["batch.advance.before:2", "batch.advance.after:1", "batch.advance.after:2", "store.commit.before:5"]


@workflow
async def sleep() -> None: ...


@pytest.fixture
async def client(address: str) -> AsyncIterator[Client]:
    """A client of an application without a process at work, with tasks that wait."""
    app = App("crash", workflows=[sleep], agents=[], store=address)
    async with app.client() as client:
        await client.submit_many(sleep, [()] * COUNT, ids=[f"t-{number}" for number in range(COUNT)])
        yield client


async def supervised(address: str, failpoint: str | None) -> int:
    """The exit code of a Supervisor that makes its passes and ends, or dies at a failpoint."""
    env = (
        os.environ
        | {"STEPWARD_STORE": address, "STEPWARD_LEASE": "1s"}
        | ({} if failpoint is None else {"STEPWARD_FAILPOINT": failpoint})
    )
    words = [sys.executable, "-m", "stepward", "supervisor", "--once"]
    process = await asyncio.create_subprocess_exec(
        *words, env=env, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL
    )
    async with asyncio.timeout(120):
        return await process.wait()


async def finished(client: Client, address: str, batch: Batch) -> Batch:
    """The batch once Supervisors that live have carried it out."""
    async with asyncio.timeout(240):
        while (found := await client.batches.get(batch.id)).state is not BatchState.DONE:
            # The lease of the one that died runs out meanwhile.
            assert await supervised(address, None) == 0
    return found


@pytest.mark.parametrize("store", BOTH, indirect=True)
@pytest.mark.parametrize("point", POINTS)
async def test_each_task_is_asked_once_whenever_the_supervisor_dies(client: Client, address: str, point: str) -> None:
    found = await client.batches.preview("suspend", "workflow = 'sleep'")
    batch = await client.batches.start(found, rate=1000)
    assert await supervised(address, point) == KILLED
    done = await finished(client, address, batch)
    assert (done.done, done.refused) == (COUNT, 0)
    acts = Counter(act.task_id for act in await client.audits(limit=COUNT * 3) if act.act == "suspend")
    assert acts == {f"t-{number}": 1 for number in range(COUNT)}
