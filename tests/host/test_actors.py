"""The error of an actor that ends by a bug is reported, whether or not a caller waits for it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from stepward import App
from stepward.events import Event
from stepward.host.leases import InstanceLeases


async def test_an_actor_that_ends_by_a_bug_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(self: InstanceLeases) -> None:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr(InstanceLeases, "keep", broken)
    app = App("actors", store=f"sqlite:///{tmp_path}/store.db")
    told: asyncio.Queue[Event] = asyncio.Queue()
    app.observers.add(told.put_nowait)
    async with app.running() as running:
        async with asyncio.timeout(10):
            while (event := await told.get()).name != "actor.failed":
                pass
        assert "a bug" in event.fields["error"]
        with pytest.raises(ZeroDivisionError):
            await running.wait()
