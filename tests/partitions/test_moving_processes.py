"""The move as a command, killed at each of its points, while workers are killed and started again under load."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import sys
from collections import defaultdict
from contextlib import closing, suppress
from pathlib import Path

import pytest

from stepward import TaskState
from stepward.model.states import TASK_ENDS
from stepward.store.partitions.placement import initial_shards, shard_of
from tests.partitions.moving_worker import application, is_refused

POINTS = ("shard.leave.before", "shard.commit.before", "shard.leave.after", "shard.arrive.after")
ORDERS = [f"order-{number}" for number in range(1, 121)]
ENDS_SECONDS = 90

pytestmark = [pytest.mark.faults, pytest.mark.servers]


async def begun(*words: str, **variables: str) -> asyncio.subprocess.Process:
    """A Python process with this environment."""
    pipe = asyncio.subprocess.PIPE
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", *words, stdin=pipe, stdout=pipe, stderr=pipe, env={**os.environ, **variables}
    )


async def worker(ledger: Path, stores: list[str]) -> asyncio.subprocess.Process:
    process = await begun("tests.partitions.moving_worker", str(ledger), *stores)
    assert process.stdout is not None
    assert await process.stdout.readline() == b"ready\n"
    return process


async def command(act: str, stores: list[str], failpoint: str = "") -> int:
    """The exit code of ``stepward partitions``."""
    variables = {"STEPWARD_FAILPOINT": failpoint} if failpoint else {}
    process = await begun("stepward", "partitions", act, STEPWARD_STORE=" ".join(stores), **variables)
    _, said = await process.communicate()
    assert process.returncode in (0, 137, -signal.SIGKILL), said.decode()
    return process.returncode or 0


async def test_a_killed_move_is_repeated_while_workers_die_under_load(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger"
    ledger.mkdir()
    stores = [f"sqlite:///{tmp_path / name}.db" for name in ("a", "b", "c")]
    async with application(stores[:2], ledger).client() as client:
        for order in ORDERS[:40]:
            await client.submit("fulfil", order, id=order)
    assert await command("add", stores) == 0
    workers = [await worker(ledger, stores) for _ in range(2)]
    async with application(stores, ledger).client() as client:

        async def load() -> None:
            for order in ORDERS[40:]:
                await client.submit("fulfil", order, id=order)
                await asyncio.sleep(0.05)

        loading = asyncio.create_task(load())
        for nth, point in enumerate(POINTS):
            assert await command("move", stores, f"{point}:{7 + nth}") != 0
            workers[nth % 2].kill()
            await workers[nth % 2].wait()
            workers[nth % 2] = await worker(ledger, stores)
        assert await command("move", stores) == 0
        await loading
        ends: dict[str, TaskState] = {}
        async with asyncio.timeout(ENDS_SECONDS):
            while len(ends) < len(ORDERS):
                for order in ORDERS:
                    state = (await client.task(order).status()).state
                    if state in TASK_ENDS:
                        ends[order] = state
                await asyncio.sleep(0.2)
    for process in workers:
        assert process.stdin is not None
        process.stdin.close()
        with suppress(ProcessLookupError):
            await process.wait()
    _check(ends, ledger, stores)


def _check(ends: dict[str, TaskState], ledger: Path, stores: list[str]) -> None:
    acts: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for note in ledger.iterdir():
        act, order, what, key = note.name.split()
        assert (act, what) not in acts[order], f"{order}: {act} {what} under a second key {key}"
        acts[order].add((act, what))
    charges = {("charge", "goods"), ("charge", "delivery")}
    for order in ORDERS:
        assert ends[order] == (TaskState.UNDONE if is_refused(order) else TaskState.PROCESSED), order
        assert acts[order] >= charges, order
        assert (("refund", "goods") in acts[order]) == is_refused(order), order
    places: dict[str, list[int]] = defaultdict(list)
    for place, store in enumerate(stores):
        with closing(sqlite3.connect(store.removeprefix("sqlite:///"))) as connection:
            for (id,) in connection.execute("select id from stepward_task"):
                places[id].append(place)
    assert set(places) == {*ORDERS, *(f"{order}/delivery/1" for order in ORDERS)}
    for id, found in places.items():
        assert len(found) == 1 and shard_of(id) in initial_shards(3)[found[0]], id
