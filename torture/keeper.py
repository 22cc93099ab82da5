"""Starts the processes of the application, ends and stops them, and starts again whatever died."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from servers.keeper.process import ROOT, Process, ProcessDied, Upkeep
from servers.ports import free_port
from torture.clocks import ShiftedClock

READY = b"Ready"
LOOK_SECONDS = 0.1
START_SECONDS = 180.0
END_SECONDS = 30.0
OURS = frozenset({-signal.SIGKILL, -signal.SIGTERM, 0, 128 + signal.SIGTERM})
"""How a process ends that was told to."""


class KeptActor:
    """A place for one process, and the process that holds it now."""

    def __init__(self, role: str, number: int, folder: Path, variables: Mapping[str, str]) -> None:
        self.role = role
        self.name = f"{role}-{number}"
        self.is_stopped = False
        self.lives = 0
        self._folder = folder
        self._variables = variables
        self.clock = ShiftedClock(folder / f"{self.name}-clock")
        """That of its host: others come after it dies, and find the clock as it was."""
        self._process: asyncio.subprocess.Process | None = None
        self._told_to_end = False

    @property
    def pid(self) -> int:
        assert self._process is not None, "started"
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        return self._process is not None and self._process.returncode is None

    @property
    def is_ready(self) -> bool:
        return self.is_alive and READY in self._out.read_bytes()

    @property
    def broke(self) -> str | None:
        """What is to be said of a process that was at work and ended by itself."""
        assert self._process is not None, "started"
        code = self._process.returncode
        if code is None or self._told_to_end or READY not in self._out.read_bytes():
            return None
        return f"{self.name} ended by itself with {code}: {self._errors.read_text()[-1500:]}"

    async def start(self) -> None:
        self.lives += 1
        self._told_to_end = self.is_stopped = False
        self.clock.begin()
        with self._out.open("wb") as out, self._errors.open("wb") as errors:
            self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "stepward", self.role, "torture.application:app"),
                cwd=ROOT,
                stdout=out,
                stderr=errors,
                env={**os.environ, **self._variables, **self.clock.environment},
            )

    def signal(self, number: signal.Signals) -> None:
        if self.is_alive:
            assert self._process is not None
            self._told_to_end |= number in (signal.SIGKILL, signal.SIGTERM)
            self.is_stopped = number == signal.SIGSTOP
            self._process.send_signal(number)

    async def end(self) -> str | None:
        """Have it end in good order; what is to be said if it does not."""
        self.signal(signal.SIGCONT)
        self.signal(signal.SIGTERM)
        try:
            async with asyncio.timeout(END_SECONDS):
                code = await self._over()
        except TimeoutError:
            self.signal(signal.SIGKILL)
            await self._over()
            return f"{self.name} did not end within {END_SECONDS:g} s of SIGTERM"
        return None if code in OURS else f"{self.name} ended with {code}: {self._errors.read_text()[-1500:]}"

    async def _over(self) -> int:
        assert self._process is not None
        return await self._process.wait()

    @property
    def _out(self) -> Path:
        return self._folder / f"{self.name}.{self.lives}.out"

    @property
    def _errors(self) -> Path:
        return self._folder / f"{self.name}.{self.lives}.log"


class ProcessKeeper:
    """All processes of the application, and the ledger's."""

    def __init__(self, folder: Path, variables: Mapping[str, str], counts: Mapping[str, int]) -> None:
        self.broke: list[str] = []
        """What was found wrong with processes."""
        # Asked for from the first moment on, by processes that are told where it is: its port is chosen before.
        self._ledger = Process(
            "ledger",
            *("torture.ledger", str(folder / "ledger.db")),
            port=free_port(),
            upkeep=Upkeep(logs=folder, on_loss=self._lose),
        )
        self.ledger_url = self._ledger.url
        self._keeping: asyncio.Task[None] | None = None
        variables = {**variables, "TORTURE_LEDGER": self.ledger_url}
        places = [(role, number) for role, count in counts.items() for number in range(1, count + 1)]
        self.actors: Sequence[KeptActor] = [KeptActor(role, number, folder, variables) for role, number in places]

    async def start(self) -> None:
        """Start everything and wait until all are at work."""
        await self._ledger.start()
        for actor in self.actors:
            await actor.start()
        end = time.monotonic() + START_SECONDS
        while late := [actor for actor in self.actors if not actor.is_ready]:
            if time.monotonic() > end:
                names = ", ".join(actor.name for actor in late)
                raise RuntimeError(f"expected every process at work within {START_SECONDS:g} s, found {names} not yet")
            for actor in late:
                if not actor.is_alive:
                    await actor.start()
            await asyncio.sleep(LOOK_SECONDS)
        self._keeping = asyncio.create_task(self._keep())

    async def stop(self) -> None:
        """End the application's processes in good order; the ledger stays."""
        if self._keeping is not None:
            self._keeping.cancel()
            await asyncio.gather(self._keeping, return_exceptions=True)
        living = [actor for actor in self.actors if actor.is_alive]
        self.broke += [word for word in await asyncio.gather(*(actor.end() for actor in living)) if word]

    async def close(self) -> None:
        """End whatever is still there."""
        for actor in self.actors:
            actor.signal(signal.SIGKILL)
        await self._ledger.terminate()

    async def _keep(self) -> None:
        while True:
            for actor in self.actors:
                if not actor.is_alive:
                    if (word := actor.broke) is not None:
                        self.broke.append(word)
                    await actor.start()
            await asyncio.sleep(LOOK_SECONDS)

    def _lose(self, died: ProcessDied) -> None:
        self.broke.append(f"{died}: nothing that follows can be believed")
