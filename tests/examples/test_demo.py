"""The demo as a user runs it: real processes, killed ones among them."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-m", "examples.orders.demo"]
WIDTH = 80


def _environment(folder: Path) -> dict[str, str]:
    # Settings of the user's own are none of the demo's business: these would break it.
    strange = {"STEPWARD_STORE": "sqlite:////nowhere/at/all.db", "STEPWARD_LEASE": "9m"}
    return {**os.environ, **strange, "TMPDIR": str(folder), "COLUMNS": "200"}


@pytest.mark.timeout(180)
def test_the_demo_proves_itself(tmp_path: Path) -> None:
    done = subprocess.run(
        COMMAND, check=False, cwd=ROOT, env=_environment(tmp_path), capture_output=True, text=True, timeout=170
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= WIDTH
    assert "…" not in done.stdout
    rows = [line for line in lines if line[:2].isdigit()]
    assert len(rows) == 25
    assert sum("processed" in row for row in rows) == 17
    assert "✘" not in done.stdout
    assert all(f"{name}-" in done.stdout for name in ("kill -9 submission", "kill -9 agents", "kill -9 scheduler"))
    assert "0 dead letters" in done.stdout
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_a_stopped_demo_leaves_nothing_behind(tmp_path: Path, number: signal.Signals) -> None:
    process = await asyncio.create_subprocess_exec(
        *COMMAND,
        cwd=ROOT,
        env=_environment(tmp_path),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        start_new_session=True,
    )
    assert process.stdout is not None
    while b"Placing" not in (line := await process.stdout.readline()):
        assert line, "the demo ended before it placed orders"
    # As Ctrl-C: it reaches the whole foreground group.
    os.killpg(process.pid, number)
    said = await process.stdout.read()
    assert await process.wait() == 130
    assert b"nothing of the demo is left running" in said
    assert b"Traceback" not in said
    assert list(tmp_path.iterdir()) == []
