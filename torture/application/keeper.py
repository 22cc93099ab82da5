"""The processes of the application under torture, kept by the keeper of servers/."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from servers.keeper.process import Process, ProcessDied, Upkeep
from servers.ports import free_port
from torture.application.actor import READY
from torture.servers.clocks import ShiftedClock

START_TRIES = 3
"""Starts of a process before the faults begin."""
MOST_RESTARTS = 10_000
"""Starts in a row that may fail: a process that is started while no server answers ends at once."""
END_SECONDS = 30.0
ENDED_BY_SIGTERM = frozenset({-signal.SIGTERM, 0, 128 + signal.SIGTERM})
"""Exit codes of a process that SIGTERM ended in good order."""


class ActorProcess(Process):
    """One process of the application: started again whenever it ends, on a host clock of its own."""

    def __init__(self, role: str, number: int, folder: Path, variables: Mapping[str, str]) -> None:
        name = f"{role}-{number}"
        self.role = role
        self.clock = ShiftedClock(folder / f"{name}-clock")
        """The wall clock of its host, which every successor finds as it was."""
        self.is_stopped = False
        self.broke: list[str] = []
        """A line for each time that it ended by itself although it was at work."""
        self._is_ended_by_fault = False
        environment = {**os.environ, **variables, **self.clock.environment}
        upkeep = Upkeep(
            environment=environment,
            logs=folder,
            restarting=True,
            most_failed_starts=MOST_RESTARTS,
            stop_seconds=END_SECONDS,
        )
        super().__init__(name, "torture.application.actor", role, upkeep=upkeep)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal, if the process runs; what SIGKILL and SIGTERM end is started again."""
        if not self.is_running:
            return
        self._is_ended_by_fault |= number in (signal.SIGKILL, signal.SIGTERM)
        self.is_stopped = number == signal.SIGSTOP
        with suppress(ProcessLookupError):
            os.kill(self.pid, number)

    async def end(self) -> str | None:
        """End it in good order; a line that says what is wrong, if it does not end so."""
        self.signal(signal.SIGCONT)
        code = await self.terminate()
        if code == -signal.SIGKILL:
            return f"{self.name} did not end within {END_SECONDS:g} s of SIGTERM"
        return None if code in ENDED_BY_SIGTERM else f"{self.name} ended with {code}{self.last_words()}"

    async def _execute(self) -> asyncio.subprocess.Process:
        self.clock.begin()
        return await super()._execute()

    def _is_ready(self, line: str) -> bool:
        return line.startswith(READY)

    async def _revive(self, code: int, failed_starts: int) -> int:
        if not failed_starts and not self._is_ended_by_fault:
            self.broke.append(f"{self.name} ended by itself with {code}{self.last_words()}")
        self._is_ended_by_fault = self.is_stopped = False
        return await super()._revive(code, failed_starts)


class ProcessKeeper:
    """All processes of the application, and the ledger's."""

    def __init__(self, folder: Path, variables: Mapping[str, str], counts: Mapping[str, int]) -> None:
        self._losses: list[str] = []
        # The actors are given the ledger's address before the ledger starts: its port is chosen here.
        self._ledger = Process(
            "ledger",
            *("torture.application.ledger", str(folder / "ledger.db")),
            port=free_port(),
            upkeep=Upkeep(logs=folder, on_loss=self._lose),
        )
        self.ledger_url = self._ledger.url
        variables = {**variables, "TORTURE_LEDGER": self.ledger_url}
        places = [(role, number) for role, count in counts.items() for number in range(1, count + 1)]
        self.actors: Sequence[ActorProcess] = [ActorProcess(role, number, folder, variables) for role, number in places]

    @property
    def broke(self) -> Sequence[str]:
        """The errors found with processes, one line each."""
        return [*self._losses, *(line for actor in self.actors for line in actor.broke)]

    async def start(self) -> None:
        """Start everything and wait until all are at work. Raises ProcessDied."""
        await self._ledger.start()
        await asyncio.gather(*(_started(actor) for actor in self.actors))

    async def stop(self) -> None:
        """End the application's processes in good order; the ledger stays."""
        self._losses += [line for line in await asyncio.gather(*(actor.end() for actor in self.actors)) if line]

    async def close(self) -> None:
        """Kill every process that still runs."""
        await asyncio.gather(*(actor.kill() for actor in self.actors))
        await self._ledger.terminate()

    def _lose(self, died: ProcessDied) -> None:
        self._losses.append(f"{died}: nothing that follows can be believed")


async def _started(actor: ActorProcess) -> None:
    for _ in range(START_TRIES - 1):
        with suppress(ProcessDied):
            return await actor.start()
    await actor.start()
