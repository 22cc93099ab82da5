"""An Agent that dies silently or stands still is noticed within about a lease, though the complete-by is hours off."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from stepward import Client, TaskHandle
from tests.crash.scene import ROOT, Process
from tests.longsteps.application import application
from tests.tiers import sampled
from tests.transport.brokers import SERVERS, clear, new_app

pytestmark = pytest.mark.servers

PATIENCE = 120.0
LEASE = 1.0
SOON = 20.0
"""Beyond the lease this is room for a machine that is busy."""


class Field:
    """A Scheduler and a Supervisor here, and Agents in processes of their own."""

    def __init__(self, folder: Path, transport: str, stack: AsyncExitStack) -> None:
        self.app = new_app()
        self.store = f"sqlite:///{folder / 'tasks.db'}"
        self.transport = transport
        self._folder = folder
        self._stack = stack
        self.client: Client

    async def open(self) -> None:
        app = application(self.store, self.transport, self.app, self._folder, "nobody")
        await self._stack.enter_async_context(app.running(agents=False))
        self.client = await self._stack.enter_async_context(app.client())

    async def agent(self, name: str) -> Process:
        """Start an Agent and wait until it is at work."""
        errors = self._folder / f"errors-{name}"
        given = (self.store, self.transport, self.app, str(self._folder), name)
        with errors.open("wb") as stderr:
            started = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "tests.longsteps.application",
                *given,
                cwd=ROOT,
                stdout=asyncio.subprocess.PIPE,
                stderr=stderr,
                env=dict(os.environ),
            )
        process = Process(started, errors)
        self._stack.push_async_callback(process.kill)
        await process.hears("ready")
        return process

    def stop(self, process: Process) -> None:
        """Pauses the process, but not within a transaction, which would keep all others from the file."""
        path = self._folder / "tasks.db"
        with closing(sqlite3.connect(path, timeout=PATIENCE, isolation_level=None)) as connection:
            connection.execute("begin immediate")
            process.signal(signal.SIGSTOP)
            connection.execute("rollback")

    def said(self) -> list[list[str]]:
        file = self._folder / "said"
        return [line.split() for line in file.read_text().splitlines()] if file.exists() else []

    async def says(self, what: str, instance: str, within: float = PATIENCE) -> list[str]:
        """Wait until that instance says so; the key and the attempt for which it does."""
        async with asyncio.timeout(within):
            while True:
                for said in self.said():
                    if said[:2] == [what, instance]:
                        return said[2:]
                await asyncio.sleep(0.02)

    def go(self) -> None:
        """Lets the process that works on the step have its effect."""
        (self._folder / "go").touch()

    async def progress(self, task: TaskHandle[Any], by: str, after: float = 0.0) -> Any:
        """Waits for progress of that instance, so many seconds after the attempt began; returns the step's state
        then."""
        async with asyncio.timeout(PATIENCE):
            while True:
                (step,) = await task.steps()
                is_its = step.progress is not None and step.progress["by"] == by
                if is_its and (step.progress_at or 0.0) >= (step.started_at or 0.0) + after:
                    return step
                await asyncio.sleep(0.05)


@pytest.fixture(params=sampled(("store", "nats", "rabbitmq"), "store"))
async def field(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Field]:
    transport = "store" if request.param == "store" else await asyncio.to_thread(getattr(SERVERS, request.param))
    async with AsyncExitStack() as stack:
        field = Field(tmp_path, transport, stack)
        if transport != "store":
            stack.push_async_callback(clear, transport, field.app)
        await field.open()
        yield field


async def test_a_killed_agent_is_replaced_within_a_lease(field: Field) -> None:
    first = await field.agent("first")
    task = await field.client.submit("pay", id="p1")
    asked = await field.says("began", "first")
    await field.progress(task, "first")
    await field.agent("second")
    await first.kill()
    assert await field.says("began", "second", within=SOON) == asked
    step = await field.progress(task, "second")
    assert (step.attempt, step.failure_count) == (1, 0)
    field.go()
    assert await task.result(timeout=PATIENCE) == "second"


async def test_a_paused_agent_is_replaced_and_changes_nothing_afterwards(field: Field) -> None:
    first = await field.agent("first")
    task = await field.client.submit("pay", id="p1")
    asked = await field.says("began", "first")
    await field.agent("second")
    field.stop(first)
    # RabbitMQ leases nothing: who is silent for long loses its connection.
    within = PATIENCE if field.transport.startswith("amqp") else SOON
    assert await field.says("began", "second", within=within) == asked
    field.go()
    assert await task.result(timeout=PATIENCE) == "second"
    first.signal(signal.SIGCONT)
    await first.hears("agent.overran")
    assert [said[:2] for said in field.said()] == [["began", "first"], ["began", "second"], ["acted", "second"]]
    assert await field.client.audits("p1") == []


async def test_an_agent_that_works_for_long_keeps_the_step(field: Field) -> None:
    await field.agent("first")
    task = await field.client.submit("pay", id="p1")
    await field.says("began", "first")
    await field.agent("second")
    await field.progress(task, "first", after=5 * LEASE)
    assert [said[:2] for said in field.said()] == [["began", "first"]]
    field.go()
    assert await task.result(timeout=PATIENCE) == "first"


async def test_a_task_whose_step_was_stopped_elsewhere_ends_hours_before_its_complete_by(field: Field) -> None:
    await field.agent("first")
    task = await field.client.submit("hurry", id="h1")
    asked = await field.says("began", "first")
    assert await task.result(timeout=PATIENCE) == "too slow"
    assert [said[:2] for said in field.said()] == [["began", "first"], ["undid", "first"]]
    assert (await field.says("undid", "first"))[0] != asked[0], "an undo has a key of its own"
