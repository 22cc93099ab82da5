"""The processes of the application: a worker for each partition, and one for all of them."""

from __future__ import annotations

import asyncio
import random
import signal
import sys
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from pathlib import Path

from stepward.store.partitions.placement import partition_name
from torture.partitions.journal import Journal

ROOT = Path(__file__).parents[2]


class Workers:
    """All workers; each that starts gets the deployed list of stores."""

    def __init__(
        self, logs: Path, service: tuple[int, str], stores: Sequence[str], chance: random.Random, journal: Journal
    ) -> None:
        """``service`` is the port of the remote service, and the transport."""
        self.kills = 0
        self.ended: list[str] = []
        """A line for each worker that ended although nothing killed it."""
        self._logs = logs
        self._service = service
        self._stores = list(stores)
        self._chance = chance
        self._journal = journal
        self.deploying = asyncio.Lock()
        """Held from the addition of a store until every worker has the new list: none is killed or kept meanwhile."""
        self._of_one = [self._worker(number) for number in range(1, len(stores) + 1)]
        self._of_all = Worker("all", logs, self._arguments(None))

    @property
    def all(self) -> Sequence[Worker]:
        """Every worker."""
        return (*self._of_one, self._of_all)

    async def start(self) -> None:
        """Start every worker."""
        for worker in self.all:
            await worker.start()

    async def deploy(self, stores: Sequence[str]) -> None:
        """Replace every worker by one with this list, and start those of the stores that are new in it."""
        self._stores = list(stores)
        self._journal.note(f"all workers replaced by ones with {len(stores)} stores")
        for worker in self.all:
            await worker.replace()
        while len(self._of_one) < len(stores):
            self._of_one.append(worker := self._worker(len(self._of_one) + 1))
            await worker.start()

    async def kill(self) -> None:
        """Kill one worker, which another replaces; none while a list is deployed, which replaces them all."""
        if not self.deploying.locked():
            worker = self._chance.choice(self.all)
            await worker.replace()
            self.kills += 1
            self._journal.note(f"worker {worker.name} killed, and another started")

    async def keep(self) -> None:
        """Start each worker again that has ended: one whose only store is stopped does not start."""
        for worker in self.all:
            if worker.has_ended and not self.deploying.locked():
                self.ended.append(line := f"worker {worker.name} ended: {worker.last_words()}")
                self._journal.note(line)
                await worker.replace()

    async def until_at_work(self, stopped: Collection[int]) -> None:
        """Return once the worker of each partition but these has begun its actors."""
        healthy = [worker for number, worker in enumerate(self._of_one, 1) if number not in stopped]
        await asyncio.gather(*(worker.at_work.wait() for worker in healthy))

    async def end(self) -> None:
        """Kill every worker."""
        for worker in self.all:
            await worker.end()

    def _worker(self, number: int) -> Worker:
        return Worker(partition_name(number), self._logs, self._arguments(number))

    def _arguments(self, number: int | None) -> Callable[[], Sequence[str]]:
        def given() -> Sequence[str]:
            numbers = range(1, len(self._stores) + 1) if number is None else (number,)
            return *map(str, self._service), ",".join(map(partition_name, numbers)), *self._stores

        return given


class Worker:
    """One process, which another replaces when it is killed."""

    def __init__(self, name: str, logs: Path, arguments: Callable[[], Sequence[str]]) -> None:
        self.name = name
        self.at_work = asyncio.Event()
        """Set once the actors of the present process have begun."""
        self._arguments = arguments
        self._log = logs / f"worker-{name}.log"
        self._process: asyncio.subprocess.Process | None = None
        self._reading: asyncio.Task[None] | None = None
        self._replacing = asyncio.Lock()

    @property
    def has_ended(self) -> bool:
        """Whether it ended by itself."""
        return self._process is not None and self._process.returncode is not None

    def last_words(self) -> str:
        """The last line that it wrote to standard error."""
        lines = self._log.read_text(errors="replace").strip().splitlines()
        return lines[-1] if lines else "it said nothing"

    async def start(self) -> None:
        """Start the process; it is at work some time later."""
        command = (sys.executable, "-m", "torture.partitions.worker", *self._arguments())
        pipe = asyncio.subprocess.PIPE
        self.at_work.clear()
        with self._log.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                *command, cwd=ROOT, stdin=pipe, stdout=pipe, stderr=log
            )
        self._reading = asyncio.create_task(self._read(self._process))

    async def _read(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None, "is a pipe"
        if await process.stdout.readline() and process is self._process:
            self.at_work.set()

    async def replace(self) -> None:
        """Kill the process, and start another."""
        async with self._replacing:
            await self.end()
            await self.start()

    async def end(self) -> None:
        """Kill the process."""
        process, self._process = self._process, None
        if process is not None:
            with suppress(ProcessLookupError):
                process.send_signal(signal.SIGKILL)
            await process.wait()
