"""A clock is where it was moved to, however long ago its process began, and a step keeps no rate."""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path

import pytest

from servers.clocks import LIBRARIES
from torture.servers.clocks import ShiftedClock

ASK = "import sys, time\nfor line in sys.stdin: print(time.time(), flush=True)"
NEAR = 0.5
pytestmark = pytest.mark.skipif(not LIBRARIES, reason="expected libfaketime, found none; run tests/install-programs")


async def test_a_process_reads_the_clock_as_it_was_moved(tmp_path: Path) -> None:
    clock = ShiftedClock(tmp_path)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", ASK),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env=dict(clock.environment),
    )
    clock.begin()
    for ahead, rate in ((3600.0, 1.0), (-60.0, 1.0), (-60.0, 1.1), (15.0, 0.9)):
        clock.set(ahead, rate)
        assert abs(await _ahead(process) - ahead) < NEAR
        assert abs(clock.ahead - ahead) < NEAR
    process.kill()
    await process.wait()


async def _ahead(process: asyncio.subprocess.Process) -> float:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(b"now\n")
    return float(await process.stdout.readline()) - time.time()
