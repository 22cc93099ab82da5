"""The example of a step that a person finishes, run as its page says."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
SECONDS = 60


async def test_one_order_is_approved_one_turned_down_and_one_forgotten() -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "examples.approval",
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(SECONDS):
        out, err = await process.communicate()
    assert process.returncode == 0, err.decode()
    lines = sorted(out.decode().splitlines()[:2]) + out.decode().splitlines()[2:]
    assert lines == [
        "A-1: refused, used",
        "A-1: shipped, approved by Grace",
        "A-2: not shipped: too much for one teapot",
        "A-3: never mind",
        "A-3: task A-3 was undone: approvals.ask/1 did not finish within its complete-by 1 time",
        "audit of A-1: grace@example.org complete",
        "audit of A-1: mallory refused_completion",
    ]
