"""The Agent under test as a process that the kit starts, ends and kills."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
from collections.abc import Mapping, Sequence
from typing import Protocol

from stepward.errors import SettingsError

STDERR = 2
"""The descriptor of stderr: stdout is the report's."""


class AgentProcess(Protocol):
    """A process that serves the Agent."""

    @property
    def is_running(self) -> bool:
        """Whether it was started and has not ended."""
        ...

    async def start(self) -> None:
        """Start it again. Raises SettingsError if it cannot be started."""
        ...

    def terminate(self) -> None:
        """Send SIGTERM."""
        ...

    async def kill(self) -> None:
        """Send SIGKILL, and wait for its end."""
        ...

    async def ended(self, seconds: float) -> int | None:
        """Its exit code; None if it still runs after so many seconds."""
        ...


class AgentCommand:
    """Implements ``AgentProcess`` by a command; its output goes to stderr."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self._command = command
        self._environment = environment
        self._process: asyncio.subprocess.Process | None = None

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.returncode is None

    async def start(self) -> None:
        try:
            self._process = await asyncio.create_subprocess_exec(
                *self._command, env=self._environment, stdin=subprocess.DEVNULL, stdout=STDERR
            )
        except OSError as error:
            raise SettingsError(
                f"command: expected the program that runs the Agent, found {self._command[0]!r}: {error}; correct it"
            ) from error

    def terminate(self) -> None:
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                self._process.terminate()

    async def kill(self) -> None:
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()

    async def ended(self, seconds: float) -> int | None:
        if self._process is None:
            return None
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                return await self._process.wait()
        return None
