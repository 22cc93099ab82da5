"""One process of the example: started, kept as infrastructure would keep it, and never left behind."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

ROOT = Path(__file__).parents[2]
READY_SECONDS = 60
STOP_SECONDS = 8
MOST_FAILED_STARTS = 5
LAST_LINES = 3


class ProcessDied(Exception):
    """A process ended unasked, and will not be started again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Upkeep:
    """How a process is kept.

    With `restarting`, a process that ends unasked is started again, and `on_revival` is called with a line that says
    so. `on_loss` is called when a process is gone for good: it is not restarted, or `most_failed_starts` starts in a
    row have failed. `environment` is that of this process unless given, standard error too unless `logs` names a
    folder. A process that does not end within `stop_seconds` of SIGTERM is killed.
    """

    environment: Mapping[str, str] | None = None
    logs: Path | None = None
    restarting: bool = False
    most_failed_starts: int = MOST_FAILED_STARTS
    stop_seconds: float = STOP_SECONDS
    on_revival: Callable[[str], None] = lambda _line: None
    on_loss: Callable[[ProcessDied], None] = lambda _died: None


PLAIN = Upkeep()


class Process:
    """`python -m MODULE ARGUMENTS… --tethered`, in a session of its own: Ctrl-C is its starter's to hear.

    One that listens has a `port`: 0 takes a free one, which stays the same for every start. `terminate`, `kill`
    and `restart` are asked; any other end is a death. Use it as `async with Process(…)`, or call `start` and
    `terminate`.
    """

    def __init__(
        self, name: str, module: str, *arguments: str, port: int | None = None, upkeep: Upkeep = PLAIN
    ) -> None:
        self.name = name
        self.port = port
        self.starts = 0
        self._command = [sys.executable, "-m", module, *arguments, "--tethered"]
        self._upkeep = upkeep
        self._log = None if upkeep.logs is None else upkeep.logs / f"{name}.log"
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
        """Where the process listens; the same after each start."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        """The process id of the present, or else the last, process."""
        return self._running.pid

    @property
    def is_running(self) -> bool:
        """Whether the process was started, is ready and has not ended."""
        return self._process is not None and self._process.returncode is None

    async def start(self) -> None:
        """Start the process and return when it is ready; raises ProcessDied when it ends before that."""
        async with self._changing:
            if self._is_wanted:
                raise RuntimeError(f"{self.name} has been started already: use restart()")
            await self._spawn()
            self._is_wanted = True
            self._keeper = asyncio.create_task(self._keep(), name=f"keep {self.name}")

    async def terminate(self) -> int | None:
        """Ask the process to end, and kill it when it does not; its exit code, or None if it was never started."""
        return await self._stop(signal.SIGTERM)

    async def kill(self) -> int | None:
        """Kill the process as `kill -9` does; its exit code, or None if it was never started."""
        return await self._stop(signal.SIGKILL)

    async def restart(self) -> None:
        """Stop the process if it still runs, and start another as it was."""
        await self.terminate()
        await self.start()

    async def exited(self) -> int:
        """Wait until the present process ends, and return its exit code."""
        if self._exit is None:
            raise RuntimeError(f"{self.name} was never started: call start() first")
        return await asyncio.shield(self._exit)

    async def started(self, times: int) -> None:
        """Wait until the process has been started `times` times in all."""
        async with self._started:
            await self._started.wait_for(lambda: self.starts >= times)

    def last_words(self) -> str:
        """What it wrote into its log last, as the end of a sentence; nothing if it has no log."""
        if self._log is None:
            return ""
        lines = self._log.read_text(encoding="utf-8", errors="replace").splitlines()[-LAST_LINES:]
        return f"; it said last: {' / '.join(lines) or 'nothing'}"

    @property
    def _running(self) -> asyncio.subprocess.Process:
        if self._process is None:
            raise RuntimeError(f"{self.name} was never started: call start() first")
        return self._process

    async def _spawn(self) -> None:
        process = await self._execute()
        try:
            async with asyncio.timeout(READY_SECONDS):
                is_ready = await self._await_ready(process)
        except TimeoutError:
            await _end_now(process)
            raise ProcessDied(f"{self.name} was not ready within {READY_SECONDS} s{self.last_words()}") from None
        except asyncio.CancelledError:
            await _end_now(process)
            raise
        self._process, self._exit = process, asyncio.create_task(self._end(process), name=f"end of {self.name}")
        if not is_ready:
            raise ProcessDied(f"{self.name} exited with {await self.exited()} before it was ready{self.last_words()}")
        async with self._started:
            self.starts += 1
            self._started.notify_all()

    async def _await_ready(self, process: asyncio.subprocess.Process) -> bool:
        """Read lines until one says that it is ready; False if there are no more."""
        while line := await _line(process):
            if self._is_ready(line.decode(errors="replace").strip()):
                return True
        return False

    async def _execute(self) -> asyncio.subprocess.Process:
        port = [] if self.port is None else ["--port", str(self.port)]
        log = None if self._log is None else self._log.open("ab")
        try:
            return await asyncio.create_subprocess_exec(
                *self._command,
                *port,
                cwd=ROOT,
                env=self._upkeep.environment,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
                start_new_session=True,
            )
        finally:
            if log is not None:
                log.close()

    def _is_ready(self, line: str) -> bool:
        if self.port is None:
            return line.endswith(" ready")
        _, listens, place = line.partition(" listening on http://")
        if listens:
            self.port = int(place.rpartition(":")[2])
        return bool(listens)

    async def _stop(self, number: signal.Signals) -> int | None:
        async with self._changing:
            self._is_wanted = False
            if self._process is None:
                return None
            with suppress(ProcessLookupError):
                self._process.send_signal(number)
            code = await self._end_in_time(self._process)
        if self._keeper is not None:
            await self._keeper
        return code

    async def _end_in_time(self, process: asyncio.subprocess.Process) -> int:
        try:
            async with asyncio.timeout(self._upkeep.stop_seconds):
                return await self.exited()
        except TimeoutError:
            process.kill()
            return await self.exited()

    async def _keep(self) -> None:
        failed_starts = 0
        while self._is_wanted:
            code = await self.exited()
            async with self._changing:
                if self._is_wanted and not self._upkeep.restarting:
                    self._lose(ProcessDied(f"{self.name} exited with {code}, unasked{self.last_words()}"))
                elif self._is_wanted:
                    failed_starts = await self._revive(code, failed_starts)

    async def _revive(self, code: int, failed_starts: int) -> int:
        # While the process is dead its port is free, and may be taken for a moment: a few starts may fail.
        try:
            await self._spawn()
        except ProcessDied as died:
            if failed_starts + 1 == self._upkeep.most_failed_starts:
                self._lose(died)
            return failed_starts + 1
        self._upkeep.on_revival(f"{self.name} died ({_cause(code)}) and was started again")
        return 0

    async def _hear(self, line: str) -> None:
        """A line that it prints once it is ready."""

    async def _end(self, process: asyncio.subprocess.Process) -> int:
        # Read to the end, so that the pipe is closed along with the process.
        assert process.stdout is not None, "stdout is a pipe"
        async for line in process.stdout:
            await self._hear(line.decode(errors="replace").strip())
        return await process.wait()

    def _lose(self, died: ProcessDied) -> None:
        self._is_wanted = False
        self._upkeep.on_loss(died)


def _cause(code: int) -> str:
    return f"exit code {code}" if code >= 0 else f"signal {-code}"


async def _line(process: asyncio.subprocess.Process) -> bytes:
    assert process.stdout is not None, "stdout is a pipe"
    return await process.stdout.readline()


async def _end_now(process: asyncio.subprocess.Process) -> None:
    with suppress(ProcessLookupError):
        process.kill()
    await process.wait()
