"""Another product at the same work: its program runs in an environment of its own, controlled over a pipe."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

DBOS = (str(Path("build/peers/bin/python")), str(Path(__file__).parent / "dbos_program.py"))
"""The command of DBOS's program; the address of its database follows."""
END_SECONDS = 30.0

Answer = dict[str, float]


class Peer:
    """The program at work: one order, one answer."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._orders, self._answers = process.stdin, process.stdout

    async def ten_step_tasks(self, tasks: int, at_once: int) -> float:
        """Steps a second of ten-step tasks, so many in flight, in the faster of its ways."""
        return max((await self._do("ten", tasks, at_once)).values())

    async def one_task(self, repeats: int) -> float:
        """Median seconds of one ten-step task alone, in the faster of its ways."""
        return min((await self._do("alone", repeats)).values())

    async def queued_tasks(self, tasks: int) -> float:
        """One-step tasks a second, all of them queued before the first is taken, in the faster of its ways."""
        return max((await self._do("queued", tasks)).values())

    async def _do(self, work: str, *amounts: int) -> Answer:
        self._orders.write(json.dumps([work, *amounts]).encode() + b"\n")
        await self._orders.drain()
        line = await self._answers.readline()
        if not line:
            raise RuntimeError(f"peer: expected an answer to {work}, found that it ended; look above for why")
        answer: Answer = json.loads(line)
        return answer


@asynccontextmanager
async def hired(command: Sequence[str]) -> AsyncIterator[Peer]:
    """The program, begun and gone with the block."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe)
    try:
        yield Peer(process)
        assert process.stdin is not None
        process.stdin.close()
        await asyncio.wait_for(process.wait(), END_SECONDS)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
