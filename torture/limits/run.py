"""Processes that are killed and started again under load, and what the counting service saw."""

from __future__ import annotations

import asyncio
import random
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from stepward import Client, TaskState
from torture.limits.application import LIMIT, application
from torture.limits.service import CountingService

ROOT = Path(__file__).parents[2]
PROCESSES = 4
BACKLOG = 30
"""Tasks that wait or run, about: replaced by others as they end."""
LOOK = 0.5
"""Seconds between two looks at the backlog."""
END_SECONDS = 60.0
"""Seconds in which all tasks end once no process is killed any more."""
GENTLE = 0.25
"""The part of the ends that is SIGTERM."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitsPlan:
    """How long processes are killed, how often, on which store and transport."""

    store: str
    transport: str
    seconds: float
    pause: float
    """Seconds between two ends, on average."""
    seed: int
    logs: Path
    """The folder of what the processes write to standard error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitsVerdict:
    """The figures of a run, and what it broke."""

    limit: int
    most: int
    calls: int
    lost: int
    kills: int
    stops: int
    tasks: int
    full: float
    """The part of the time in which as many calls ran as may."""
    broken: Sequence[str]

    @property
    def table(self) -> str:
        """The figures, a line for each."""
        figures = {
            "limit": self.limit,
            "most calls at once": self.most,
            "calls": self.calls,
            "calls whose caller was killed": self.lost,
            "processes killed": self.kills,
            "processes stopped": self.stops,
            "tasks processed": self.tasks,
            "time at the limit": f"{self.full:.0%}",
        }
        return "\n".join(f"{name:<30} {value:>8}" for name, value in figures.items())


async def torture_limits(plan: LimitsPlan) -> LimitsVerdict:
    """Run the plan."""
    chance = random.Random(plan.seed)
    service = CountingService(LIMIT, plan.seed)
    port = await service.start()
    app = application(plan.store, plan.transport, port)
    processes = [_Worker(plan, port, number) for number in range(PROCESSES)]
    loop = asyncio.get_running_loop()
    try:
        async with app.client() as client:
            for process in processes:
                await process.start()
            load = asyncio.create_task(_load(client))
            kills, stops, began = 0, 0, loop.time()
            while loop.time() < began + plan.seconds:
                await asyncio.sleep(plan.pause * (0.5 + chance.random()))
                is_gentle = chance.random() < GENTLE
                await chance.choice(processes).replace(signal.SIGTERM if is_gentle else signal.SIGKILL)
                kills, stops = kills + (not is_gentle), stops + is_gentle
            full = service.full_seconds / (loop.time() - began)
            load.cancel()
            broken = await _settled(client)
            tasks = (await client.count(state=TaskState.PROCESSED)).number
    finally:
        for process in processes:
            await process.end()
        await service.stop()
    if service.most < LIMIT:
        broken.append(f"expected as many calls at once as the limit, found at most {service.most}")
    return LimitsVerdict(
        limit=LIMIT,
        most=service.most,
        calls=service.calls,
        lost=service.lost,
        kills=kills,
        stops=stops,
        tasks=tasks,
        full=full,
        broken=[*service.violations[:5], *broken],
    )


async def _load(client: Client) -> None:
    while True:
        missing = BACKLOG - await _open(client)
        if missing > 0:
            await client.submit_many("survey", [()] * missing)
        await asyncio.sleep(LOOK)


async def _open(client: Client) -> int:
    counts = [await client.count(state=state) for state in (TaskState.PENDING, TaskState.PROCESSING)]
    return sum(count.number for count in counts)


async def _settled(client: Client) -> list[str]:
    """What keeps the tasks from their ends, if anything."""
    with suppress(TimeoutError):
        async with asyncio.timeout(END_SECONDS):
            while await _open(client):  # noqa: ASYNC110  its cause sets no event of ours
                await asyncio.sleep(LOOK)
            failed = (await client.count(state=TaskState.ERROR)).number
            return [f"{failed} tasks ended in error"] if failed else []
    return [f"expected all tasks to end within {END_SECONDS:g} s, found {await _open(client)} open"]


class _Worker:
    """One of the processes, which another replaces when it ends."""

    def __init__(self, plan: LimitsPlan, port: int, number: int) -> None:
        self._arguments = (plan.store, plan.transport, str(port))
        self._log = plan.logs / f"worker-{number}.log"
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        """Start the process; it is at work some time later."""
        command = (sys.executable, "-m", "torture.limits.worker", *self._arguments)
        pipe, nothing = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
        with self._log.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                *command, cwd=ROOT, stdin=pipe, stdout=nothing, stderr=log
            )

    async def replace(self, number: signal.Signals) -> None:
        """End the process by a signal, and start another."""
        await self.end(number)
        await self.start()

    async def end(self, number: signal.Signals = signal.SIGKILL) -> None:
        """End the process; one that does not end in time is killed."""
        process, self._process = self._process, None
        if process is None:
            return
        with suppress(ProcessLookupError):
            process.send_signal(number)
        try:
            async with asyncio.timeout(END_SECONDS / 4):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()
