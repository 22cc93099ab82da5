"""One store, one ledger, and the processes that a test starts, kills and stops."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

from stepward import Client, Queues
from stepward.client import session_of
from stepward.model.messages.requests import submission_queue
from tests.crash.application import QUEUE, submit
from tests.crash.ledger import Ledger

ROOT = Path(__file__).parents[2]
ALL = ("scheduler", "agent", "supervisor")
KILLED = (137, -signal.SIGKILL)
PATIENCE = 120.0
BUSY = "StoreUnavailable"
T = TypeVar("T")


class Process:
    """A process of the application."""

    def __init__(self, process: asyncio.subprocess.Process, errors: Path) -> None:
        self._process = process
        self.errors = errors

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        return self._process.returncode is None

    async def hears(self, word: str) -> str:
        """The next line that begins so."""
        assert self._process.stdout is not None
        async with asyncio.timeout(PATIENCE):
            while line := (await self._process.stdout.readline()).decode().strip():
                if line.startswith(word):
                    return line
        raise AssertionError(f"expected {word!r}, found the process over: {self.errors.read_text()[-2000:]}")

    async def begins(self) -> bool:
        """Wait until it is at work; False if it found the store busy, and ended."""
        try:
            await self.hears("ready")
        except AssertionError:
            if BUSY not in self.errors.read_text():
                raise
            return False
        return True

    async def submit(self, workflow: str, *ids: str) -> None:
        """Have this process submit tasks; it may die of it."""
        assert self._process.stdin is not None
        self._process.stdin.write("".join(f"submit {workflow} {id}\n" for id in ids).encode())

    def signal(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    async def kill(self) -> None:
        if self.is_alive:
            self._process.kill()
        await self.dies()

    async def dies(self) -> int:
        """Wait for its end; the exit code."""
        async with asyncio.timeout(PATIENCE):
            code = await self._process.wait()
        if self._process.stdin is not None:
            self._process.stdin.close()
        return code


class Scene:
    """What a test of crashes works with."""

    def __init__(self, folder: Path, transport: str, store: str) -> None:
        self._folder = folder
        self._processes: list[Process] = []
        self.transport = transport
        self.store = store
        self.ledger = Ledger(str(folder / "ledger.db"))
        self.client = Client(self.store, app="crash")
        self.queues = Queues(self.store, app="crash")

    async def open(self) -> None:
        await self.client.__aenter__()
        await self.queues.__aenter__()
        async with self.client.transaction() as transaction:
            await transaction.execute("create table booked (task text)")
            await transaction.execute("create table placed (id text)")

    async def close(self) -> None:
        for process in self._processes:
            await process.kill()
        await self.queues.__aexit__(None, None, None)
        await self.client.__aexit__(None, None, None)
        self.ledger.close()

    async def start(self, *roles: str, failpoint: str | None = None, stop: str | None = None) -> Process:
        """Start a process and wait until it is at work.

        One that finds the store busy ends, and is started again, as a service manager does.
        """
        while True:
            process = await self.launch(*roles, failpoint=failpoint, stop=stop)
            if await process.begins():
                return process

    async def launch(
        self, *roles: str, failpoint: str | None = None, stop: str | None = None, way: str | None = None
    ) -> Process:
        """Start a process that may die before it is at work; ``way`` names failpoints to be passed in that order."""
        given = {"STEPWARD_FAILPOINT": failpoint, "CRASH_STOP": stop, "CRASH_WAY": way}
        return await self.run("tests.crash.driver", self.store, self.transport, *(roles or ALL), **given)

    async def run(self, module: str, *args: str, **variables: str | None) -> Process:
        """Start a program of the tests; it ends with the test."""
        errors = self._folder / f"errors-{len(self._processes)}"
        given = {**variables, "CRASH_LEDGER": str(self._folder / "ledger.db")}
        with errors.open("wb") as stderr:
            started = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                module,
                *args,
                cwd=ROOT,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=stderr,
                env={**os.environ, **{name: value for name, value in given.items() if value}},
            )
        process = Process(started, errors)
        self._processes.append(process)
        return process

    async def submit(self, tasks: dict[str, str]) -> None:
        """Submit tasks (id to WORKFLOW[:TROUBLE]) from outside; what is there already is left alone."""
        for id, workflow in tasks.items():
            await submit(self.client, workflow, id)

    async def post(self, messages: dict[str, str], *, reply_to: str | None = None) -> None:
        """Post messages (id to WORKFLOW[:TROUBLE])."""
        for id, workflow in messages.items():
            await self.queues.post(QUEUE, workflow, id=id, reply_to=reply_to)

    async def emptied(self, queue: str = submission_queue("crash", QUEUE)) -> None:
        """Wait until nothing is left in the queue."""

        async def look() -> bool:
            found = await self._rows(f"select count(*) from {self._messages} where queue = $1", queue)
            return found == [0]

        await until(look)

    async def booked(self) -> list[str]:
        return await self._rows("select task from booked")

    async def placed(self) -> list[str]:
        """The shop's own rows, one for each message that was accepted."""
        return await self._rows("select id from placed")

    @property
    def _messages(self) -> str:
        return "stepward_message" if self.store.startswith("sqlite:") else "stepward_crash.message"

    async def _rows(self, sql: str, *values: str) -> list[Any]:
        async with self.client.transaction() as transaction:
            return [row[0] for row in await transaction.execute(sql, values)]


async def until(look: Callable[[], Awaitable[T]], *, within: float = PATIENCE) -> T:
    """What ``look`` gives once it is true: the one place that waits for other processes by looking again."""
    async with asyncio.timeout(within):
        while not (found := await look()):  # noqa: ASYNC110  its cause sets no event of ours
            await asyncio.sleep(0.01)
    return found


def now_of(scene: Scene) -> float:
    """The store's clock."""
    return session_of(scene.client).store.now()
