"""A Supervisor that is killed while it delivers alerts: the next one delivers what no sink has taken."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from stepward import App
from stepward.client import session_of
from stepward.model.records import Alert
from tests.observers.receiver import Receiver, receiving

SECRET = "0123456789abcdef"
ALERTS = 5


async def supervisor(store: str, receiver: Receiver) -> asyncio.subprocess.Process:
    sinks = {"ops": {"type": "webhook", "url": receiver.url, "secret": SECRET}}
    environment = {**os.environ, "STEPWARD_STORE": store, "STEPWARD_ALERT_SINKS": json.dumps(sinks)}
    program = (sys.executable, "-m", "stepward", "supervisor")
    return await asyncio.create_subprocess_exec(
        *program, env=environment, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL
    )


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not is_so():  # noqa: ASYNC110  nothing is set when the receiver gets a request
            await asyncio.sleep(0.02)


@pytest.mark.servers
async def test_a_killed_supervisor_loses_no_alert(tmp_path: Path) -> None:
    address = f"sqlite:///{tmp_path}/shop.db"
    app = App("shop", workflows=[], store=address)
    async with app.client() as client, receiving() as receiver:
        store = session_of(client).store
        for number in range(ALERTS):
            await store.host.warn(Alert(kind="internal", message=f"alert {number}"))
        receiver.silent = True
        killed = await supervisor(address, receiver)
        await until(lambda: len(receiver.received) == 1)
        killed.send_signal(signal.SIGKILL)
        await killed.wait()
        receiver.silent = False
        after = await supervisor(address, receiver)
        try:
            ids = [f"alert-{number + 1}" for number in range(ALERTS)]
            await until(lambda: sorted({got.headers["webhook-id"] for got in receiver.received[1:]}) == ids)
        finally:
            after.terminate()
            await after.wait()
