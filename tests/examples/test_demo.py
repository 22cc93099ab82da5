"""The demo as a user runs it: real processes, killed ones among them."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from servers.postgres.server import home

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-m", "examples.orders.demo"]
WIDTH = 80
LONGEST_SECONDS = 200
KILLED = ("submission", "agents", "scheduler", "supervisor")


@pytest.fixture
def folder() -> Iterator[Path]:
    """Where the database servers may be, which run as somebody else."""
    with home() as folder:
        yield folder


def _environment(folder: Path) -> dict[str, str]:
    # Settings of the user's own are none of the demo's business: these would break it.
    strange = {"STEPWARD_STORE": "sqlite:////nowhere/at/all.db", "STEPWARD_LEASE": "9m"}
    return {**os.environ, **strange, "TMPDIR": str(folder), "COLUMNS": "200"}


def _play(folder: Path, *options: str) -> str:
    """What a demo said that proved itself, and left nothing behind."""
    done = subprocess.run(
        [*COMMAND, *options],
        check=False,
        cwd=ROOT,
        env=_environment(folder),
        capture_output=True,
        text=True,
        timeout=LONGEST_SECONDS,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= WIDTH
    assert "…" not in done.stdout
    rows = [line for line in lines if line[:2].isdigit()]
    assert len(rows) == 25
    assert sum("processed" in row for row in rows) == 17
    assert "✘" not in done.stdout
    assert "0 dead letters" in done.stdout
    assert list(folder.iterdir()) == []
    return done.stdout


@pytest.mark.timeout(LONGEST_SECONDS + 10)
def test_the_demo_proves_itself(tmp_path: Path) -> None:
    said = _play(tmp_path)
    assert [said.count(f"kill -9 {name}-") for name in KILLED] == [1, 1, 1, 0]
    assert "All 18 hold." in said


@pytest.mark.timeout(LONGEST_SECONDS + 10)
def test_the_demo_proves_itself_on_postgresql(folder: Path) -> None:
    said = _play(folder, "--store", "postgresql")
    assert [said.count(f"kill -9 {name}-") for name in KILLED] == [1, 1, 2, 1]
    for claim in ("The work of the primary was taken over", "No acknowledged order was lost", "has them all, too"):
        assert claim in said
    assert "All 23 hold." in said


def test_a_store_that_is_none_is_refused_in_one_line(tmp_path: Path) -> None:
    make = ["make", "--no-print-directory", "demo", "STORE=mysql", f"RUN={sys.executable}"]
    done = subprocess.run(make, check=False, cwd=ROOT, env=_environment(tmp_path), capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    first, *makes_own = done.stderr.splitlines()
    assert first == "demo: store: expected sqlite or postgresql, found 'mysql'; say STORE=postgresql, or nothing"
    assert all(line.startswith("make") for line in makes_own)


@pytest.mark.parametrize(
    ("store", "number"),
    [("sqlite", signal.SIGINT), ("sqlite", signal.SIGTERM), ("postgresql", signal.SIGINT)],
)
async def test_a_stopped_demo_leaves_nothing_behind(folder: Path, store: str, number: signal.Signals) -> None:
    process = await asyncio.create_subprocess_exec(
        *COMMAND,
        "--store",
        store,
        cwd=ROOT,
        env=_environment(folder),
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
    assert list(folder.iterdir()) == []
