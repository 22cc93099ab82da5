"""One process of a group, from its start to its end."""

from __future__ import annotations

import asyncio
import socket
import sys
from asyncio.subprocess import DEVNULL, Process
from collections.abc import Sequence
from contextlib import suppress

from stepward.cli.processes.parent_link import DRAINED, FAILED, READY

REST_SECONDS = 1.0
"""Seconds for reading the rest of an ended process's output."""


class Child:
    """A running process; ``complaint`` is its own message about why it cannot go on, if any."""

    def __init__(self, process: Process, line: asyncio.StreamReader, tether: asyncio.StreamWriter) -> None:
        self._process = process
        self._parent_link = tether
        self._reading = asyncio.create_task(self._read(line))
        self._ready = asyncio.Event()
        self.pid = process.pid
        self.complaint = ""
        self.is_drained = False
        """Whether it ends because an operator wants it."""

    @classmethod
    async def begin(cls, number: int, target: str, options: Sequence[str] = ()) -> Child:
        """Start it, in this folder and with this environment, on the application of that name, with more options."""
        ours, theirs = socket.socketpair()
        with theirs:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "stepward", "run", target),
                *("--child", str(number), str(theirs.fileno())),
                *options,
                stdin=DEVNULL,
                pass_fds=(theirs.fileno(),),
                # The parent passes on a signal from the keyboard: the child may not be ready for it yet.
                start_new_session=True,
            )
        return cls(process, *await asyncio.open_connection(sock=ours))

    async def is_at_work(self) -> bool:
        """Wait until it is at work; False if it ends before that."""
        ready, ended = (asyncio.ensure_future(wait) for wait in (self._ready.wait(), self._process.wait()))
        await asyncio.wait({ready, ended}, return_when=asyncio.FIRST_COMPLETED)
        ready.cancel()
        ended.cancel()
        return self._ready.is_set()

    async def ended(self) -> int:
        """Wait for its end; the exit code, or the negative number of the signal that killed it."""
        code = await self._process.wait()
        await asyncio.wait({self._reading}, timeout=REST_SECONDS)
        self._reading.cancel()
        self.cut()
        return code

    def cut(self) -> None:
        """Make it drain and end."""
        self._parent_link.close()

    def kill(self) -> None:
        """Kill it."""
        with suppress(ProcessLookupError):
            self._process.kill()

    async def _read(self, line: asyncio.StreamReader) -> None:
        with suppress(ConnectionError):
            while line_read := (await line.readline()).decode(errors="replace").rstrip("\n"):
                if line_read == READY:
                    self._ready.set()
                self.is_drained |= line_read == DRAINED
                self.complaint = line_read.removeprefix(FAILED) if line_read.startswith(FAILED) else self.complaint
