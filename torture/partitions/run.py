"""Stores that are stopped and started and processes that are killed, under load, and what the oracle says of it."""

from __future__ import annotations

import asyncio
import random
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from servers.postgres import Server
from stepward import Client, TaskState
from stepward.cli.input.operator_store import operator_client
from stepward.client import TaskStatus
from stepward.errors import CommitUnknown, StoreUnavailable
from stepward.settings import Settings
from torture.partitions.application import application
from torture.partitions.oracle import Outage, judged
from torture.partitions.service import Bank

ROOT = Path(__file__).parents[2]
EVERY = 0.1
"""Seconds between two orders."""
OUTAGE_SECONDS = 8.0
"""Seconds for which a store is stopped: several leases of a process that may have been killed just before."""
PAUSE_SECONDS = 2.5
"""Seconds between two faults, about."""
END_SECONDS = 120.0
"""Seconds in which all tasks end once nothing is hurt any more."""
MOST_TASKS = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionsPlan:
    """How long stores and processes are hurt, and with which chance."""

    servers: Sequence[Server]
    seconds: float
    seed: int
    logs: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionsVerdict:
    """The figures of a run, and what it broke."""

    orders: int
    kills: int
    outages: int
    refused: int
    broken: Sequence[str]

    @property
    def table(self) -> str:
        """The figures, a line for each."""
        figures = {
            "orders": self.orders,
            "submissions repeated": self.refused,
            "processes killed": self.kills,
            "outages of a store": self.outages,
        }
        return "\n".join(f"{name:<30} {value:>8}" for name, value in figures.items())


async def torture_partitions(plan: PartitionsPlan) -> PartitionsVerdict:
    """Run the plan."""
    loop = asyncio.get_running_loop()
    bank = Bank(loop.time)
    port = await bank.start()
    stores = [server.address() for server in plan.servers]
    names = [f"p{number}" for number in range(1, len(stores) + 1)]
    workers = [_Worker(plan.logs, port, served, stores) for served in (*names, ",".join(names))]
    faults = _Faults(plan, workers)
    load = _Load()
    try:
        async with application(stores, port).client() as client:
            for worker in workers:
                await worker.start()
            loading = asyncio.create_task(load.run(client))
            await faults.bring_about()
            load.stop()
            await loading
            late = await _settled(client)
            tasks = [await _tasks_of(store) for store in stores]
    finally:
        for worker in workers:
            await worker.end()
        await bank.stop()
    return PartitionsVerdict(
        orders=len(load.orders),
        kills=faults.kills,
        outages=len(faults.outages),
        refused=load.refused,
        broken=[*late, *judged(load.orders, tasks, bank, faults.outages)],
    )


class _Load:
    """Orders at a steady rate; one that is refused is submitted again under its id, and holds no other back."""

    def __init__(self) -> None:
        self.orders: set[str] = set()
        self.refused = 0
        self._is_over = asyncio.Event()

    def stop(self) -> None:
        """Submit no further order."""
        self._is_over.set()

    async def run(self, client: Client) -> None:
        """Submit until stopped; returns once every order is accepted."""
        async with asyncio.TaskGroup() as group:
            for number in count(1):
                if self._is_over.is_set():
                    return
                self.orders.add(order := f"order-{number}")
                group.create_task(self._submit(client, order))
                await asyncio.sleep(EVERY)

    async def _submit(self, client: Client, order: str) -> None:
        while True:
            try:
                await client.submit("fulfil", order, id=order)
                return
            except (StoreUnavailable, CommitUnknown):
                self.refused += 1
                await asyncio.sleep(1)


class _Faults:
    """Kills of processes all the time, and outages of one store after the other."""

    def __init__(self, plan: PartitionsPlan, workers: Sequence[_Worker]) -> None:
        self.kills = 0
        self.outages: list[Outage] = []
        self._plan = plan
        self._workers = workers
        self._chance = random.Random(plan.seed)

    async def bring_about(self) -> None:
        """Hurt processes and stores for the time of the plan; at the end every store runs."""
        loop = asyncio.get_running_loop()
        until = loop.time() + self._plan.seconds
        while loop.time() < until:
            await self._rest()
            await self._kill()
            await self._rest()
            await self._stop_a_store()

    async def _rest(self) -> None:
        await asyncio.sleep(PAUSE_SECONDS * (0.5 + self._chance.random()))

    async def _kill(self) -> None:
        await self._chance.choice(self._workers).replace()
        self.kills += 1

    async def _stop_a_store(self) -> None:
        number = self._chance.randrange(len(self._plan.servers))
        server, loop = self._plan.servers[number], asyncio.get_running_loop()
        await asyncio.to_thread(server.stop, immediate=self._chance.random() < 0.5)
        began = loop.time()
        await asyncio.sleep(OUTAGE_SECONDS / 4)
        await self._kill()
        await asyncio.sleep(OUTAGE_SECONDS * 3 / 4)
        self.outages.append(Outage(number + 1, began, loop.time()))
        await asyncio.to_thread(server.start)
        for worker in self._workers:
            await worker.keep()


class _Worker:
    """One of the processes, which another replaces when it is killed."""

    def __init__(self, logs: Path, port: int, served: str, stores: Sequence[str]) -> None:
        self._arguments = (str(port), served, *stores)
        self._log = logs / f"worker-{served}.log"
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        """Start the process; it is at work some time later."""
        command = (sys.executable, "-m", "torture.partitions.worker", *self._arguments)
        pipe, nothing = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
        with self._log.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                *command, cwd=ROOT, stdin=pipe, stdout=nothing, stderr=log
            )

    async def keep(self) -> None:
        """Start another if the process has ended: one whose only store is stopped does not start."""
        if self._process is not None and self._process.returncode is not None:
            await self.replace()

    async def replace(self) -> None:
        """Kill the process, and start another."""
        await self.end()
        await self.start()

    async def end(self) -> None:
        """Kill the process."""
        process, self._process = self._process, None
        if process is not None:
            with suppress(ProcessLookupError):
                process.send_signal(signal.SIGKILL)
            await process.wait()


async def _settled(client: Client) -> list[str]:
    """The tasks that do not end in time, as a finding."""
    live = "state in ('pending', 'processing', 'waiting', 'undoing')"
    with suppress(TimeoutError):
        async with asyncio.timeout(END_SECONDS):
            while (await client.count(where=live)).number:  # noqa: ASYNC110  its cause sets no event of ours
                await asyncio.sleep(0.5)
            return []
    left = [f"{task.id} ({task.state})" for task in await client.tasks(where=live, limit=5)]
    return [f"expected all tasks to end within {END_SECONDS:g} s, found open: {', '.join(left)}"]


async def _tasks_of(store: str) -> dict[str, TaskState]:
    """The state of every task of one store, looked at alone."""
    async with operator_client(Settings(store=store)) as client:
        return {task.id: task.state for task in await _all_tasks(client)}


async def _all_tasks(client: Client) -> list[TaskStatus]:
    page = await client.tasks(limit=MOST_TASKS)
    found = list(page)
    while page.cursor is not None:
        page = await client.tasks(limit=MOST_TASKS, cursor=page.cursor)
        found += page
    return found
