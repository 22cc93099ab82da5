"""What does not end keeps nothing from ending: neither the other actors, nor the process."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from stepward import App, running
from stepward.events import Event
from stepward.host.actors import running_actors
from stepward.host.queues.reply_rerouting import ReplyRerouting
from stepward.transport.memory.memory_transport import MemoryTransport

WITHIN = 30.0


def app_of(folder: Path, told: list[Event]) -> App:
    app = App("stopping", store=f"sqlite:///{folder}/store.db", lease="1s", drain="0s")
    app.observers.add(told.append)
    return app


async def never_ends() -> None:
    """Swallow every cancellation, until the loop itself is closed."""
    while True:
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            continue


async def stopped(app: App) -> None:
    async with asyncio.timeout(WITHIN):
        async with app.running():
            pass


async def test_an_actor_whose_client_swallows_a_cancellation_is_cancelled_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def swallows_one(self: ReplyRerouting) -> None:
        for _ in range(2):
            try:
                await asyncio.get_running_loop().create_future()
            except asyncio.CancelledError:
                continue

    monkeypatch.setattr(ReplyRerouting, "keep", swallows_one)
    monkeypatch.setattr(running_actors, "CANCEL_AGAIN_SECONDS", 0.05)
    told: list[Event] = []
    await stopped(app_of(tmp_path, told))
    assert not [event for event in told if event.name == "process.stop_stuck"]


async def test_a_transport_that_never_closes_does_not_keep_the_store_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def close(self: MemoryTransport) -> None:
        await asyncio.get_running_loop().create_future()

    monkeypatch.setattr(MemoryTransport, "close", close)
    monkeypatch.setattr(running, "CLOSE_SECONDS", 0.05)
    told: list[Event] = []
    await stopped(app_of(tmp_path, told))
    assert [event.fields for event in told if event.name == "process.stop_stuck"] == [{"what": "transport"}]
