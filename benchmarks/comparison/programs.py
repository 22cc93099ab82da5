"""The driver's side of the contract in ``benchmarks.peers.contract``: a program at the other end of two pipes."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import IO, Any

START_SECONDS = 60.0
ORDER_SECONDS = 90.0
"""Most seconds for an answer beyond those that the order itself asks for."""
END_SECONDS = 15.0
MOST_CHARACTERS = 300

Answer = dict[str, Any]


class ProgramFailed(Exception):
    """A program did not start, reported an error or did not answer in time; the text is one line."""


class MeasuredProgram:
    """A program in a session of its own, so that it ends with all its children."""

    def __init__(self, process: asyncio.subprocess.Process, log: IO[bytes]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.pid = process.pid
        self._process = process
        self._orders, self._answers = process.stdin, process.stdout
        self._log = log

    async def do(self, work: str, **amounts: float) -> Answer:
        """Send an order, and return its answer; raises ``ProgramFailed``."""
        with suppress(ConnectionError):  # A program that has ended gives no answer, which is reported below.
            self._orders.write(json.dumps({"work": work, **amounts}).encode() + b"\n")
            await self._orders.drain()
        return await self.answer(work, ORDER_SECONDS + 3 * amounts.get("seconds", 0.0))

    async def answer(self, work: str, seconds: float) -> Answer:
        """Return the next answer; raises ``ProgramFailed``."""
        try:
            line = await asyncio.wait_for(self._answers.readline(), seconds)
        except TimeoutError:
            raise ProgramFailed(f"{work}: expected an answer within {seconds:.0f} s, found none") from None
        if not line:
            raise ProgramFailed(f"{work}: expected an answer, found that the program ended: {await self._ended()}")
        answer: Answer = json.loads(line)
        if "error" in answer:
            raise ProgramFailed(f"{work}: {answer['error']}")
        return answer

    async def close(self) -> None:
        """Let it end in good order, or kill it."""
        self._orders.close()
        with suppress(TimeoutError):
            await asyncio.wait_for(self._process.wait(), END_SECONDS)
        await self.kill()

    async def kill(self) -> None:
        """Kill it and its children."""
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        async with asyncio.timeout(END_SECONDS):
            # The pipe is at its end once no child holds it any more.
            await self._answers.read()
            await self._process.wait()

    async def _ended(self) -> str:
        await self.kill()
        self._log.seek(0)
        lines = self._log.read().decode(errors="replace").strip().splitlines()
        return lines[-1][:MOST_CHARACTERS] if lines else "it wrote nothing"


@asynccontextmanager
async def started(command: Sequence[str], more: Mapping[str, str]) -> AsyncIterator[MeasuredProgram]:
    """A program that is ready, and gone with the block; raises ``ProgramFailed``."""
    pipe = asyncio.subprocess.PIPE
    with tempfile.TemporaryFile() as log:
        try:
            process = await asyncio.create_subprocess_exec(
                *command, stdin=pipe, stdout=pipe, stderr=log, start_new_session=True, env={**os.environ, **more}
            )
        except OSError as error:
            raise ProgramFailed(f"start: {error}") from error
        program = MeasuredProgram(process, log)
        try:
            await program.answer("start", START_SECONDS)
            yield program
        finally:
            await program.close()
