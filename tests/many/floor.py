"""Where these tests play: a database, the gate, and the processes of the command line that they begin."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from stepward import Client, TaskHandle
from tests.cli.groups import Group, are_over, watched
from tests.cli.processes import LOOK_SECONDS, Process, asked, done
from tests.many.gate import PATIENCE, Gate
from tests.store.postgres.worlds import Database

APP = f"{Path(__file__).with_name('application.py')}:app"
QUICK = {"STEPWARD_LEASE": "2s", "STEPWARD_SUPERVISOR_EVERY": "100ms", "STEPWARD_POLL": "100ms"}
KILLED = -signal.SIGKILL


class Floor:
    """The database, the gate, a client, and processes that end with the test."""

    def __init__(self, folder: Path, database: Database, gate: Gate, client: Client) -> None:
        self.folder = folder
        self.database = database
        self.gate = gate
        self.client = client
        self.processes: dict[str, Process] = {}
        self._processes: list[Process] = []
        self.deploy("old")

    def deploy(self, code: str) -> None:
        """Let processes that begin from now on declare these versions: ``old``, ``new``, ``both``."""
        (self.folder / "code").write_text(code)

    async def group(self, count: int, **env: str) -> Group:
        """``stepward run --processes``, ready."""
        process, lines = await self._begin("run", APP, "--processes", str(count), **env)
        return Group(process, lines)

    async def begin(self, *args: str, **env: str) -> Process:
        """A command at work, ready."""
        return (await self._begin(*args, **env))[0]

    async def command(self, *args: str, **env: str) -> subprocess.CompletedProcess[str]:
        """Run a command to its end."""
        return await asyncio.to_thread(done, self.folder, *args, **self._environment(env))

    async def asked(self, *args: str, **env: str) -> subprocess.CompletedProcess[str]:
        """Run a command to its end in this process."""
        return await asyncio.to_thread(asked, self.folder, *args, **self._environment(env))

    async def ends(self, process: Process, number: int) -> int:
        """Tell a process so, and wait for its end; the exit code."""
        process.tell(number)
        return await asyncio.to_thread(process.ended)

    async def are_over(self, pids: list[int], act: Callable[[], Coroutine[Any, Any, object]]) -> bool:
        """Whether these processes end once that is done."""
        with watched(pids) as descriptors:
            await act()
            return await asyncio.to_thread(are_over, descriptors)

    async def submit(self, *names: str) -> list[TaskHandle]:
        return [await self.client.submit("order", name, id=name) for name in names]

    async def results(self, orders: list[TaskHandle]) -> list[Any]:
        return [await order.result(timeout=PATIENCE) for order in orders]

    async def alerts(self) -> list[str]:
        """What those that are open say."""
        return [alert.message for alert in await self.client.alerts()]

    async def until(self, look: Callable[[], Coroutine[Any, Any, bool]]) -> None:
        """Look until it is so, within bounds: no event tells what a store will show."""
        async with asyncio.timeout(PATIENCE):
            while not await look():  # noqa: ASYNC110 - no event tells of it
                await asyncio.sleep(LOOK_SECONDS)

    async def close(self) -> None:
        for process in self._processes:
            await asyncio.to_thread(process.close)

    async def _begin(self, *args: str, **env: str) -> tuple[Process, list[str]]:
        process = Process(self.folder, *args, **self._environment(env))
        self._processes.append(process)
        return process, await asyncio.to_thread(process.read_until, "Ready")

    def _environment(self, more: dict[str, str]) -> dict[str, str]:
        ours = {"STEPWARD_STORE": self.database.address, "GATE": str(self.gate.path), "CODE": str(self.folder / "code")}
        return {**ours, **QUICK, **more}


def kill(pid: int) -> None:
    """As a crash would."""
    os.kill(pid, signal.SIGKILL)
