"""Absurd at the work of the comparison: its workers in this process, its schema from the package of its command."""

from __future__ import annotations

import asyncio
import os
from typing import Any

import absurdctl
import psycopg
from absurd_sdk import AsyncAbsurd, AsyncTaskContext

from benchmarks.peers.contract import HOLD, STEPS, Answer, DurableProgram, holding, run, until

QUEUE = "bench"
WORKERS, CONCURRENCY = 4, 64
"""Each worker executes its statements on one connection, one after another: several are faster."""
CLAIM_SECONDS = 10
"""The time after which another worker takes a task over: the lease of Stepward's default."""
POLL_SECONDS = 0.01
"""Its default is 0.25 s."""
TABLE = "select to_regnamespace('absurd')"
ENDED = "select count(*) from absurd.t_bench where task_name = 'one' and state = 'completed'"


async def act(text: str, n: int) -> dict[str, object]:
    """The step."""
    return {"ok": True, "n": n}


async def one(params: dict[str, Any], ctx: AsyncTaskContext) -> dict[str, object]:
    """One step."""
    result: dict[str, object] = await ctx.step("act", lambda: act(params["text"], 1))
    return result


async def ten(params: dict[str, Any], ctx: AsyncTaskContext) -> int:
    """Ten steps."""
    total = 0
    for n in range(STEPS):
        await ctx.step("act", lambda n=n: act(params["text"], n))
        total += n
    return total


async def half(params: dict[str, Any], ctx: AsyncTaskContext) -> None:
    """Two steps, of which the second is held."""
    await ctx.step("act", lambda: act(params["text"], 1))
    await ctx.step("hold", holding.hold)


class AbsurdProgram(DurableProgram):
    """A client and several workers, each on a connection of its own."""

    async def start(self) -> None:
        """Install the schema in a fresh database, and start the workers."""
        async with await psycopg.AsyncConnection.connect(self.address, autocommit=True) as connection:
            found = await (await connection.execute(TABLE)).fetchone()
            if found == (None,):
                await connection.execute(absurdctl.BUNDLED_SCHEMA_SQL)
        self._client = AsyncAbsurd(self.address, queue_name=QUEUE)
        await self._client.create_queue(QUEUE)
        self._look = await psycopg.AsyncConnection.connect(self.address, autocommit=True)
        self._workers = [AsyncAbsurd(self.address, queue_name=QUEUE) for _ in range(WORKERS)]
        self._running = list[asyncio.Task[None]]()
        if not os.environ.get(HOLD):
            self._work()

    async def stop(self) -> None:
        """Stop the workers."""
        for running in self._running:
            running.cancel()
        for each in (self._client, *self._workers):
            await each.close()
        await self._look.close()

    async def ten(self, n: int) -> None:
        """One task."""
        spawned = await self._client.spawn("ten", {"text": f"order {n}"}, queue=QUEUE)
        await self._client.await_task_result(spawned["task_id"])

    async def queue(self, n: int) -> None:
        """One task of one step."""
        await self._client.spawn("one", {"text": f"order {n}"}, queue=QUEUE)

    async def drained(self, tasks: int) -> None:
        """Look into the database until all are completed."""
        await until(self._ended, tasks)

    async def submit_held(self, n: int) -> None:
        """One task whose second step is held."""
        await self._spawn_held(n)

    async def held(self, tasks: int) -> None:
        """Start the workers: one that had begun a held task would claim no further ones."""
        self._work()
        await super().held(tasks)

    async def held_result(self, n: int) -> None:
        """Its result; a spawn with a known key returns the task that has it."""
        await self._client.await_task_result((await self._spawn_held(n))["task_id"])

    async def _ended(self) -> int:
        row = await (await self._look.execute(ENDED)).fetchone()
        assert row is not None
        return int(row[0])

    def _work(self) -> None:
        for number, worker in enumerate(self._workers):
            for function in (one, ten, half):
                worker.register_task(function.__name__)(function)
            work = worker.start_worker(
                worker_id=f"worker-{number}",
                claim_timeout=CLAIM_SECONDS,
                concurrency=CONCURRENCY,
                poll_interval=POLL_SECONDS,
            )
            self._running.append(asyncio.create_task(work))

    async def _spawn_held(self, n: int) -> Answer:
        spawned: Answer = await self._client.spawn(
            "half", {"text": f"order {n}"}, queue=QUEUE, idempotency_key=f"held-{n}"
        )
        return spawned


if __name__ == "__main__":
    run(AbsurdProgram)
