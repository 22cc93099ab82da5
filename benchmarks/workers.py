"""Processes that run actors of the measured application, so that a measure can count and kill them."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from benchmarks.application import make_app
from benchmarks.cpu import own_seconds
from stepward.host import tune_process

READY = "ready"
END_SECONDS = 60.0

WorkerSettings = dict[str, Any]


class Worker:
    """One process that runs actors."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    @property
    def cpu_seconds(self) -> float:
        """What it has used so far."""
        return own_seconds(self._process.pid)

    async def kill(self) -> None:
        """Crash it."""
        self._process.kill()
        await self._process.wait()

    async def stop(self) -> None:
        """Let it end in good order, if it still runs: it does when its pipe closes, also because we are gone."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            await asyncio.wait_for(self._process.wait(), END_SECONDS)
        except TimeoutError:
            await self.kill()
            raise


@asynccontextmanager
async def worker(
    address: str, roles: WorkerSettings | None = None, settings: WorkerSettings | None = None, *, hold: bool = False
) -> AsyncIterator[Worker]:
    """A process at work on a store; ``hold`` has it never end what is asked of ``hold``."""
    arguments = [address, json.dumps(roles or {}), json.dumps(settings or {})]
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "benchmarks.workers", *arguments),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "BENCH_HOLD": "1" if hold else ""},
    )
    started = Worker(process)
    try:
        assert process.stdout is not None
        said = (await process.stdout.readline()).decode().strip()
        if said != READY:
            raise RuntimeError(f"worker: expected it to be ready, found {said!r}; look above for why")
        yield started
    finally:
        await started.stop()


@asynccontextmanager
async def workers(address: str, count: int, settings: WorkerSettings) -> AsyncIterator[Sequence[Worker]]:
    """That many processes that run all actors each."""
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(worker(address, settings=settings)) for _ in range(count)]


async def _run(address: str, roles: WorkerSettings, settings: WorkerSettings) -> None:
    app = make_app(address, **settings)
    async with app.running(**roles) as running:
        print(READY, flush=True)
        told = asyncio.create_task(asyncio.to_thread(sys.stdin.read))
        failed = asyncio.create_task(running.wait())
        await asyncio.wait((told, failed), return_when=asyncio.FIRST_COMPLETED)
        if failed.done():
            failed.result()
        failed.cancel()


if __name__ == "__main__":
    tune_process()
    asyncio.run(_run(sys.argv[1], json.loads(sys.argv[2]), json.loads(sys.argv[3])))
