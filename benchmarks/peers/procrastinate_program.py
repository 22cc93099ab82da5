"""Procrastinate as a plain queue: jobs of one step, its worker in this process."""

from __future__ import annotations

import asyncio

import procrastinate
import psycopg

from benchmarks.peers.contract import QueueProgram, run, until

CONCURRENCY = 128
KNOWN = "select count(*) from pg_tables where tablename = 'procrastinate_jobs'"
ENDED = "select count(*) from procrastinate_jobs where status = 'succeeded'"


class ProcrastinateProgram(QueueProgram):
    """A worker that runs coroutines."""

    async def start(self) -> None:
        """Install the schema in a fresh database, and start the worker."""
        self._app = procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=self.address))
        await self._app.open_async()
        self._look = await psycopg.AsyncConnection.connect(self.address, autocommit=True)
        if not await self._number(KNOWN):
            await self._app.schema_manager.apply_schema_async()

        @self._app.task(name="act")
        async def act(text: str, n: int) -> dict[str, object]:
            return {"ok": True, "n": n}

        self._act = act
        work = self._app.run_worker_async(concurrency=CONCURRENCY, install_signal_handlers=False)
        self._running = asyncio.create_task(work)

    async def stop(self) -> None:
        """Stop the worker."""
        self._running.cancel()
        await asyncio.gather(self._running, return_exceptions=True)
        await self._look.close()
        await self._app.close_async()

    async def queue(self, n: int) -> None:
        """One job."""
        await self._act.defer_async(text=f"order {n}", n=n)

    async def drained(self, tasks: int) -> None:
        """Look into the database until all have succeeded."""
        await until(lambda: self._number(ENDED), tasks)

    async def _number(self, query: str) -> int:
        row = await (await self._look.execute(query)).fetchone()
        assert row is not None
        return int(row[0])


if __name__ == "__main__":
    run(ProcrastinateProgram)
