"""DBOS at the work of the comparison, written as coroutines and as plain functions on threads."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import sqlalchemy
from dbos import DBOS, SetWorkflowID

from benchmarks.peers.contract import STEPS, DurableProgram, holding, run, until

QUEUE = "queue"
POLL_SECONDS = 0.05
THREADS = 128
ENDED = "select count(*) from {table} where queue_name = :queue and status = 'SUCCESS'"


def act_on_thread(text: str, n: int) -> dict[str, object]:
    """The step on a thread."""
    return {"ok": True, "n": n}


async def act(text: str, n: int) -> dict[str, object]:
    """The step."""
    return {"ok": True, "n": n}


async def hold() -> None:
    """The second step of a held task."""
    await holding.hold()


step, step_on_thread, hold_step = DBOS.step()(act), DBOS.step()(act_on_thread), DBOS.step()(hold)


@DBOS.workflow()
async def ten(text: str) -> int:
    """Ten steps as coroutines."""
    total = 0
    for n in range(STEPS):
        await step(text, n)
        total += n
    return total


@DBOS.workflow()
def ten_on_thread(text: str) -> int:
    """Ten steps on a thread."""
    total = 0
    for n in range(STEPS):
        step_on_thread(text, n)
        total += n
    return total


@DBOS.workflow()
def one_on_thread(text: str) -> dict[str, object]:
    """One step on a thread: of the two ways it is the faster one for queued tasks."""
    result: dict[str, object] = step_on_thread(text, 1)
    return result


@DBOS.workflow()
async def half(text: str) -> None:
    """Two steps, of which the second is held."""
    await step(text, 1)
    await hold_step()


class DbosProgram(DurableProgram):
    """DBOS with its system database on PostgreSQL or in a SQLite file."""

    ways = ("coroutines", "threads")

    async def start(self) -> None:
        """Launch DBOS, which recovers this executor's pending workflows, and its queue."""
        config = {
            "name": "peer",
            "system_database_url": self.address,
            "log_level": "ERROR",
            "console_log_level": "ERROR",
            "enable_otlp": False,
        }
        DBOS(config=config)
        DBOS.launch()
        is_postgres = self.address.startswith("postgresql")
        table = "dbos.workflow_status" if is_postgres else "workflow_status"
        self._ended = sqlalchemy.text(ENDED.format(table=table))
        self._engine = sqlalchemy.create_engine(self.address.replace("postgresql:", "postgresql+psycopg:"))
        self._threads = ThreadPoolExecutor(THREADS)
        await DBOS.register_queue_async(QUEUE, polling_interval_sec=POLL_SECONDS)

    async def stop(self) -> None:
        """Stop its threads."""
        DBOS.destroy()

    async def ten(self, n: int) -> None:
        """One task in the chosen way."""
        if self.way == "threads":
            await asyncio.get_running_loop().run_in_executor(self._threads, ten_on_thread, f"order {n}")
        else:
            await ten(f"order {n}")

    async def queue(self, n: int) -> None:
        """Enqueue one task of one step."""
        enqueue = partial(DBOS.enqueue_workflow, QUEUE, one_on_thread, f"order {n}")
        await asyncio.get_running_loop().run_in_executor(self._threads, enqueue)

    async def drained(self, tasks: int) -> None:
        """Look into the database until all have succeeded."""
        await until(self._count, tasks)

    async def submit_held(self, n: int) -> None:
        """Start one task whose second step is held."""
        with SetWorkflowID(f"held-{n}"):
            await DBOS.start_workflow_async(half, f"order {n}")

    async def held_result(self, n: int) -> None:
        """Its result."""
        handle = await DBOS.retrieve_workflow_async(f"held-{n}")
        await handle.get_result()

    async def _count(self) -> int:
        with self._engine.connect() as connection:
            count: int = connection.execute(self._ended, {"queue": QUEUE}).scalar_one()
            return count


if __name__ == "__main__":
    run(DbosProgram)
