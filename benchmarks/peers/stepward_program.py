"""Stepward at the work of the comparison: one process with Scheduler, Agents, Supervisor and client."""

from __future__ import annotations

from contextlib import AsyncExitStack

from benchmarks.application import half, make_app, one, ten
from benchmarks.measures.takeover import HALF_DONE
from benchmarks.peers.contract import DurableProgram, run
from benchmarks.store_queries import until
from stepward.host import tune_process

PROCESSED = "select count(*) from {task} where state = 'processed' and workflow = 'one'"


class StepwardProgram(DurableProgram):
    """The application of all benchmarks on a store."""

    async def start(self) -> None:
        """Start all actors in this process."""
        self._app = make_app(self.address)
        self._stack = AsyncExitStack()
        await self._stack.enter_async_context(self._app.running())
        self._client = await self._stack.enter_async_context(self._app.client())

    async def stop(self) -> None:
        """Stop them."""
        await self._stack.aclose()

    async def ten(self, n: int) -> None:
        """One task."""
        await (await self._client.submit(ten, f"order {n}")).result()

    async def queue(self, n: int) -> None:
        """One task of one step."""
        await self._client.submit(one, f"order {n}")

    async def drained(self, tasks: int) -> None:
        """Look into the store until all are processed."""
        await until(self.address, PROCESSED, tasks)

    async def submit_held(self, n: int) -> None:
        """One task whose second step is held."""
        await self._client.submit(half, n, id=f"held-{n}")

    async def held(self, tasks: int) -> None:
        """Look into the store until the first step of each is completed."""
        await until(self.address, HALF_DONE, tasks)

    async def held_result(self, n: int) -> None:
        """Its result."""
        await self._client.task(f"held-{n}").result()


if __name__ == "__main__":
    tune_process()
    run(StepwardProgram)
