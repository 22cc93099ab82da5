"""The demo as a user runs it: real processes, killed ones among them."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from servers.postgres.server import home
from tests.programs import activemq, client_of_amqp10, program

pytestmark = pytest.mark.servers

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-m", "showcase"]
WIDTH = 80
LONGEST_SECONDS = 260
KILLED = ("submission", "agents", "scheduler", "supervisor")


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder for the database servers, which run as another user."""
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
    rows = [line for line in lines if re.match(r"\d\d ", line)]
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


@pytest.mark.faults
@pytest.mark.timeout(LONGEST_SECONDS + 10)
@pytest.mark.parametrize(
    ("transport", "brand", "lost"),
    [
        ("nats", "NATS", "NATS’s node"),
        ("rabbitmq", *["RabbitMQ"] * 2),
        ("amqp10", *["AMQP 1.0"] * 2),
        ("activemq", *["ActiveMQ"] * 2),
    ],
)
def test_the_demo_proves_itself_on_postgresql_and_a_broker(folder: Path, transport: str, brand: str, lost: str) -> None:
    if transport in ("amqp10", "activemq"):
        client_of_amqp10()
    if transport == "activemq":
        activemq()
    elif transport != "nats":
        program("rabbitmq-server", "rabbitmq-server")
    said = _play(folder, "--transport", transport)
    assert [said.count(f"kill -9 {name}-") for name in KILLED] == [1, 1, 2, 1]
    for claim in ("The work of the primary was taken over", "No acknowledged order was lost", "has them all, too"):
        assert claim in said
    for claim in ("Each order was posted", "Agents were asked", "Agents answered", "The storefront was told"):
        assert f"{claim} over {brand}" in said
    assert f"No order was lost with {lost}" in said
    assert "All 28 hold." in said


@pytest.mark.faults
@pytest.mark.parametrize(
    ("stage", "number"),
    [("sqlite store", signal.SIGINT), ("sqlite local", signal.SIGTERM), ("postgresql nats", signal.SIGINT)],
)
async def test_a_stopped_demo_leaves_nothing_behind(folder: Path, stage: str, number: signal.Signals) -> None:
    store, transport = stage.split()
    process = await asyncio.create_subprocess_exec(
        *COMMAND,
        *["--store", store, "--transport", transport],
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
