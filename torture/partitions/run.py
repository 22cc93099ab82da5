"""Stores that are stopped or added and processes that are killed, under load, and what the oracle says of it."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

from stepward import Client, Queues, TaskState
from stepward.cli.input.operator_store import operator_client
from stepward.client import TaskStatus
from stepward.settings import Settings
from torture.partitions.application import NAME, application
from torture.partitions.commands import PartitionsCommands
from torture.partitions.growth import Growth
from torture.partitions.journal import Journal
from torture.partitions.load import OrderLoad
from torture.partitions.oracle import Outage, judged
from torture.partitions.processes import Workers
from torture.partitions.service import Bank
from torture.partitions.stores import TortureStores
from torture.partitions.transports import STORE

OUTAGE_SECONDS = 8.0
"""Seconds for which a store is stopped: several leases of a process that may have been killed just before."""
START_SECONDS = 60.0
"""Seconds by which an outage is longer at most, until the processes of the healthy partitions have begun."""
PAUSE_SECONDS = 2.5
"""Seconds between two faults, about."""
GROW_SECONDS = 15.0
"""Seconds between the end of a move and the next store."""
MOST_ADDED = 3
"""Stores that are added in one run: each brings a process more."""
END_SECONDS = 120.0
"""Seconds in which a further task ends once nothing is hurt any more."""
LIVE = "state in ('pending', 'processing', 'waiting', 'undoing')"
MOST_TASKS = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionsPlan:
    """How long stores and processes are hurt, and with which chance."""

    stores: TortureStores
    transport: str = STORE
    """``store``, or the address of a broker."""
    seconds: float
    seed: int
    logs: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionsVerdict:
    """The figures of a run, and what it broke."""

    orders: int
    tasks: int
    kills: int
    outages: int
    shares: int
    movers_killed: int
    refused: int
    broken: Sequence[str]

    @property
    def table(self) -> str:
        """The figures, a line for each."""
        figures = {
            "orders": self.orders,
            "tasks": self.tasks,
            "submissions repeated": self.refused,
            "processes killed": self.kills,
            "outages of a store": self.outages,
            "shares moved": self.shares,
            "moves killed": self.movers_killed,
        }
        return "\n".join(f"{name:<30} {value:>8}" for name, value in figures.items())


async def torture_partitions(plan: PartitionsPlan) -> PartitionsVerdict:
    """Run the plan."""
    async with AsyncExitStack() as stack:
        return await _verdict(plan, stack)


async def _verdict(plan: PartitionsPlan, stack: AsyncExitStack) -> PartitionsVerdict:
    bank = Bank(asyncio.get_running_loop().time)
    port = await bank.start()
    stack.push_async_callback(bank.stop)

    async def opened(stores: Sequence[str]) -> Client:
        return await stack.enter_async_context(application(stores, port, plan.transport).client())

    async def take_on(stores: Sequence[str]) -> None:
        load.client = await opened(stores)

    addresses = plan.stores.addresses
    client = await opened(addresses)
    has_broker = plan.transport != STORE
    queues = await stack.enter_async_context(Queues(plan.transport, app=NAME)) if has_broker else None
    load = OrderLoad(client, queues)
    journal = Journal(plan.logs)
    workers = Workers(plan.logs, (port, plan.transport), addresses, random.Random(f"{plan.seed}/workers"), journal)
    stack.push_async_callback(workers.end)
    await workers.start()
    commands = PartitionsCommands(journal)
    growth = Growth(plan.stores, workers, random.Random(f"{plan.seed}/growth"), take_on, commands)
    faults = PartitionFaults(plan, workers, growth, commands, journal)
    loading = asyncio.create_task(load.run())
    await faults.bring_about()
    load.stop()
    await loading
    journal.note(f"nothing is hurt any more, {len(load.orders)} orders are submitted")
    late = await _settled(plan.stores.addresses, len(load.orders))
    journal.note("all tasks ended" if not late else late[0])
    tasks = [await _tasks_of(store) for store in plan.stores.addresses]
    ended = [] if plan.stores.servers else workers.ended
    return PartitionsVerdict(
        orders=len(load.orders),
        tasks=sum(map(len, tasks)),
        kills=workers.kills,
        outages=len(faults.outages),
        shares=growth.shares,
        movers_killed=growth.movers_killed,
        refused=load.refused,
        broken=[*commands.broken, *ended, *late, *judged(load.orders, tasks, bank, faults.outages)],
    )


class PartitionFaults:
    """Kills of processes all the time, outages of one server after the other, and stores that are added."""

    def __init__(
        self, plan: PartitionsPlan, workers: Workers, growth: Growth, commands: PartitionsCommands, journal: Journal
    ) -> None:
        self.outages: list[Outage] = []
        self._plan = plan
        self._workers = workers
        self._growth = growth
        self._commands = commands
        self._journal = journal
        self._chance = random.Random(plan.seed)

    async def bring_about(self) -> None:
        """Hurt processes and stores for the time of the plan; at the end every store runs, and no share moves."""
        loop = asyncio.get_running_loop()
        until = loop.time() + self._plan.seconds
        growing = asyncio.create_task(self._grow(until))
        while loop.time() < until or not growing.done():
            await self._rest()
            await self._workers.kill()
            await self._rest()
            await self.stop_a_server()
            await self._workers.keep()
        await growing

    async def _grow(self, until: float) -> None:
        """Add stores one after the other; the first soon, so that a short run has one."""
        await self._rest()
        for _ in range(MOST_ADDED):
            await self._growth.grow()
            if self._commands.broken or asyncio.get_running_loop().time() + GROW_SECONDS > until:
                return
            await asyncio.sleep(GROW_SECONDS)

    async def _rest(self) -> None:
        await asyncio.sleep(PAUSE_SECONDS * (0.5 + self._chance.random()))

    async def stop_a_server(self) -> None:
        """Stop one for a time, and start it again; none where a command is repeated that needs all."""
        if not self._plan.stores.servers or self._commands.stopping.locked():
            return
        number = self._chance.randrange(len(self._plan.stores.servers))
        async with self._commands.stopping:
            self.outages.append(await self._outage(number))

    async def _outage(self, number: int) -> Outage:
        server, loop = self._plan.stores.servers[number], asyncio.get_running_loop()
        stopped, layouts = self._plan.stores.on(number), self._growth.layouts
        await asyncio.to_thread(server.stop, immediate=self._chance.random() < 0.5)
        began = loop.time()
        self._journal.note(f"server {number + 1} stopped")
        await asyncio.sleep(OUTAGE_SECONDS / 4)
        await self._workers.kill()
        with suppress(TimeoutError):
            async with asyncio.timeout(START_SECONDS):
                await self._workers.until_at_work(stopped)
        await asyncio.sleep(OUTAGE_SECONDS * 3 / 4)
        outage = Outage(stopped, began, loop.time(), layouts | self._growth.layouts)
        await asyncio.to_thread(server.start)
        self._journal.note(f"server {number + 1} started")
        return outage


async def _settled(stores: Sequence[str], orders: int) -> list[str]:
    """The tasks that do not end in time, as a finding; what was posted to a broker is a task some time later.

    Each store is asked alone: a count over all leaves out one that is slow to answer.
    """
    async with AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(operator_client(Settings(store=store))) for store in stores]
        loop, most_ended = asyncio.get_running_loop(), -1
        until = loop.time() + END_SECONDS
        while loop.time() < until:
            made, live, ended = await _progress(clients)
            if made >= orders and not live:
                return []
            if ended > most_ended:
                most_ended, until = ended, loop.time() + END_SECONDS
            await asyncio.sleep(0.5)
        left = [task for client in clients for task in await client.tasks(where=LIVE, limit=5)]
    found = ", ".join(f"{task.id} ({task.state})" for task in left) or "messages"
    return [f"expected a further task to end within {END_SECONDS:g} s, found open: {found}"]


async def _progress(clients: Sequence[Client]) -> tuple[int, int, int]:
    """How many orders are tasks, and how many tasks have not ended, and have."""
    orders = [(await client.count(workflow="fulfil")).number for client in clients]
    live = [(await client.count(where=LIVE)).number for client in clients]
    every = [(await client.count()).number for client in clients]
    return sum(orders), sum(live), sum(every) - sum(live)


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
