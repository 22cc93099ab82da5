"""A remote service as a subprocess, for the demo and the tests."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import httpx
import msgspec

ROOT = Path(__file__).parents[3]
MOST_FAILED_STARTS = 5

Document = dict[str, Any]
Reply = TypeVar("Reply")


class ServiceProcess:
    """One service in a process of its own, on one port and one ledger for life; it never outlives this process.

    With `restarting`, a process that dies unasked is started again, as infrastructure would do it;
    `terminate`, `kill` and `restart` are asked. Use it as `async with ServiceProcess(…) as service`, or call
    `start` and `terminate`.
    """

    def __init__(
        self,
        name: str,
        ledger: Path,
        *,
        port: int = 0,
        stock: Mapping[str, int] | None = None,
        restarting: bool = False,
    ) -> None:
        self.name = name
        self.port = port
        self.starts = 0
        self._ledger = ledger.absolute()
        self._stock = stock
        self._restarting = restarting
        self._process: asyncio.subprocess.Process | None = None
        self._exit: asyncio.Task[int] | None = None
        self._keeper: asyncio.Task[None] | None = None
        self._is_wanted = False
        self._changing = asyncio.Lock()
        self._started = asyncio.Condition()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.terminate()

    @property
    def url(self) -> str:
        """Where the service listens; the same after each restart."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        """The process id of the present, or else the last, process."""
        return self._running.pid

    async def start(self) -> None:
        """Start the process and return when it listens; raises `RuntimeError` when it dies before that."""
        if self._is_wanted:
            raise RuntimeError(f"{self.name} has been started already: use restart()")
        await self._spawn()
        self._is_wanted = True
        if self._restarting:
            self._keeper = asyncio.create_task(self._keep(), name=f"keep {self.name}")

    async def terminate(self) -> int:
        """Ask the process to stop, and return its exit code: 0 for a clean exit."""
        return await self._stop(signal.SIGTERM)

    async def kill(self) -> int:
        """Kill the process as `kill -9` does, and return its exit code."""
        return await self._stop(signal.SIGKILL)

    async def restart(self) -> None:
        """Stop the process if it still runs, and start another on the same port and ledger."""
        await self.terminate()
        await self.start()

    async def exited(self) -> int:
        """Wait until the present process ends, and return its exit code: 137 after a `crash` fault."""
        if self._exit is None:
            raise RuntimeError(f"{self.name} was never started: call start() first")
        return await asyncio.shield(self._exit)

    async def started(self, times: int) -> None:
        """Wait until the service has been started `times` times in all."""
        async with self._started:
            await self._started.wait_for(lambda: self.starts >= times)

    async def put_faults(self, faults: list[Document]) -> list[Document]:
        """Replace the faults; raises `ValueError` with the service's own words when it refuses them."""
        return await self._fetch(list[Document], "PUT", "/faults", faults)

    async def faults(self) -> list[Document]:
        """The faults with what is left of them (`times`) and what they struck (`hits`)."""
        return await self._fetch(list[Document], "GET", "/faults")

    async def ledger(self) -> list[Document]:
        """Every effect, oldest first."""
        return await self._fetch(list[Document], "GET", "/ledger")

    async def deliveries(self) -> dict[str, int]:
        """How often each idempotency key has arrived."""
        return await self._fetch(dict[str, int], "GET", "/deliveries")

    @property
    def _running(self) -> asyncio.subprocess.Process:
        if self._process is None:
            raise RuntimeError(f"{self.name} was never started: call start() first")
        return self._process

    async def _spawn(self) -> None:
        process = await asyncio.create_subprocess_exec(
            *self._command(), cwd=ROOT, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
        )
        assert process.stdout is not None, "stdout is a pipe"
        try:
            line = (await process.stdout.readline()).decode().strip()
        except asyncio.CancelledError:
            process.kill()
            raise
        self._process, self._exit = process, asyncio.create_task(_end(process), name=f"end of {self.name}")
        if not line.startswith(f"{self.name} listening on http://"):
            raise RuntimeError(f"{self.name} exited with {await self.exited()} before it was ready")
        self.port = int(line.rpartition(":")[2])
        async with self._started:
            self.starts += 1
            self._started.notify_all()

    def _command(self) -> list[str]:
        command = [sys.executable, "-m", "examples.orders.services", self.name]
        command += ["--port", str(self.port), "--ledger", str(self._ledger), "--tethered"]
        if self._stock is not None:
            command += ["--stock", msgspec.json.encode(self._stock).decode()]
        return command

    async def _stop(self, number: signal.Signals) -> int:
        async with self._changing:
            self._is_wanted = False
            with contextlib.suppress(ProcessLookupError):
                self._running.send_signal(number)
            code = await self.exited()
        if self._keeper is not None:
            await self._keeper
        return code

    async def _keep(self) -> None:
        failed_starts = 0
        while self._is_wanted:
            await self.exited()
            async with self._changing:
                failed_starts = await self._revive(failed_starts) if self._is_wanted else 0

    async def _revive(self, failed_starts: int) -> int:
        # While the service is dead its port is free, and may be taken for a moment: a few starts may fail.
        try:
            await self._spawn()
        except RuntimeError:
            if failed_starts + 1 == MOST_FAILED_STARTS:
                raise
            return failed_starts + 1
        return 0

    async def _fetch(self, kind: type[Reply], method: str, path: str, body: object = None) -> Reply:
        # Proxies of the environment are for the outside world.
        async with httpx.AsyncClient(base_url=self.url, trust_env=False) as client:
            response = await client.request(method, path, json=body)
        if response.status_code == httpx.codes.BAD_REQUEST:
            raise ValueError(response.text)
        response.raise_for_status()
        return msgspec.json.decode(response.content, type=kind)


async def _end(process: asyncio.subprocess.Process) -> int:
    # Read to the end, so that the pipe is closed along with the process.
    assert process.stdout is not None, "stdout is a pipe"
    await process.stdout.read()
    return await process.wait()
