"""The processes of the demo: four remote services and the workers, none of which outlives it."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Self

from examples.orders.demo.stories import STOCK, faults_of
from examples.orders.services.process import ROOT, ServiceProcess

SERVICES = ("stock", "payment", "parcel", "mail")
WAREHOUSE = ("stock", "parcel")
OFFICE = ("payment", "mail")
SETTINGS = {
    "STEPWARD_TRANSPORT": "store",
    "STEPWARD_LEASE": "2s",
    "STEPWARD_SUPERVISOR_EVERY": "200ms",
    "STEPWARD_DRAIN": "1s",
    # So few that one Scheduler cannot hold all orders.
    "STEPWARD_TASKS_IN_FLIGHT": "14",
}
STOP_SECONDS = 5
LAST_LINES = 5


class WorkerDied(Exception):
    """A worker ended that nobody had killed."""


class Worker:
    """A Scheduler, Agents or a Supervisor in a process of its own, in its own session: Ctrl-C is the demo's."""

    def __init__(self, name: str, arguments: Sequence[str], environment: Mapping[str, str], log: Path) -> None:
        self.name = name
        self._is_wanted = True
        self._arguments = arguments
        self._environment = environment
        self._log = log
        self._process: asyncio.subprocess.Process | None = None

    @property
    def pid(self) -> int:
        """The process's id."""
        return self._running.pid

    @property
    def should_run(self) -> bool:
        """Whether it was started, and neither killed nor stopped."""
        return self._process is not None and self._is_wanted

    async def start(self) -> Self:
        """Start the process, and return when it works; raises WorkerDied when it ends before that."""
        with self._log.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                *[sys.executable, "-m", "examples.orders.worker", *self._arguments, "--tethered"],
                cwd=ROOT,
                env=self._environment,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
                start_new_session=True,
            )
        assert self._process.stdout is not None, "stdout is a pipe"
        try:
            line = await self._process.stdout.readline()
        except asyncio.CancelledError:
            self._process.kill()
            raise
        if not line.endswith(b"ready\n"):
            raise await self.died()
        return self

    async def died(self) -> WorkerDied:
        """Wait for the end, and say what the process said last."""
        code = await self._running.wait()
        said = " / ".join(self._log.read_text(errors="replace").splitlines()[-LAST_LINES:])
        return WorkerDied(f"{self.name} exited with {code}, unasked; it said last: {said or 'nothing'}")

    async def kill(self) -> None:
        """`kill -9`."""
        self._is_wanted = False
        os.kill(self.pid, signal.SIGKILL)
        await self._running.wait()

    async def stop(self) -> None:
        """Ask the process to end; kill it when it does not."""
        self._is_wanted = False
        if self._process is None:
            return
        with suppress(ProcessLookupError):
            self._process.terminate()
        try:
            async with asyncio.timeout(STOP_SECONDS):
                await self._process.wait()
        except TimeoutError:
            self._process.kill()
            await self._process.wait()

    @property
    def _running(self) -> asyncio.subprocess.Process:
        if self._process is None:
            raise RuntimeError(f"{self.name} was never started: call start() first")
        return self._process


class Processes:
    """All of them; `died` is told of any worker that ends unasked."""

    def __init__(self, folder: Path, store: str) -> None:
        self.services = {
            name: ServiceProcess(name, folder / f"{name}.db", stock=_stock(name), restarting=True) for name in SERVICES
        }
        self.workers: list[Worker] = []
        self._folder = folder
        self._store = store
        self._started = asyncio.Event()

    async def start_services(self, stack: AsyncExitStack) -> None:
        """Start the four services, and tell each how to misbehave."""

        async def start(service: ServiceProcess) -> None:
            await stack.enter_async_context(service)
            await service.put_faults(faults_of(service.name))

        async with asyncio.TaskGroup() as group:
            for service in self.services.values():
                group.create_task(start(service))

    async def start_workers(self) -> None:
        """Start the first workers: two Schedulers, two processes of Agents, one Supervisor."""
        await asyncio.gather(
            self.start_worker("scheduler-1", "scheduler"),
            self.start_worker("scheduler-2", "scheduler"),
            self.start_worker("agents-1", "agents", "--only", *WAREHOUSE),
            self.start_worker("agents-2", "agents", "--only", *OFFICE),
            self.start_worker("supervisor", "supervisor"),
        )

    async def start_worker(self, name: str, *arguments: str) -> Worker:
        """Start one worker, as infrastructure would."""
        worker = Worker(name, arguments, self._environment(), self._folder / f"{name}.log")
        self.workers.append(worker)
        await worker.start()
        self._started.set()
        return worker

    def worker(self, name: str) -> Worker:
        """The worker of that name."""
        return next(worker for worker in self.workers if worker.name == name)

    async def watch(self) -> None:
        """Raise WorkerDied when a worker ends that nobody killed; never returns."""
        while True:
            self._started.clear()
            ends = {asyncio.create_task(worker.died()): worker for worker in self.workers if worker.should_run}
            started = asyncio.create_task(self._started.wait())
            try:
                await asyncio.wait([*ends, started], return_when=asyncio.FIRST_COMPLETED)
                for end, worker in ends.items():
                    if end.done() and worker.should_run:
                        raise end.result()
            finally:
                for task in (*ends, started):
                    task.cancel()

    async def stop(self) -> None:
        """End all workers."""
        await asyncio.gather(*(worker.stop() for worker in self.workers))

    def _environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("STEPWARD_")}
        urls = {f"ORDERS_{name.upper()}_URL": service.url for name, service in self.services.items()}
        # Proxies of the environment are for the outside world.
        return {**kept, **SETTINGS, **urls, "STEPWARD_STORE": self._store, "NO_PROXY": "127.0.0.1"}


@asynccontextmanager
async def running(folder: Path, store: str) -> AsyncIterator[Processes]:
    """The processes, of which none is left at the end; the services run, workers are started later."""
    processes = Processes(folder, store)
    async with AsyncExitStack() as stack:
        await processes.start_services(stack)
        stack.push_async_callback(processes.stop)
        yield processes


def _stock(service: str) -> Mapping[str, int] | None:
    return STOCK if service == "stock" else None
