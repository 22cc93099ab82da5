"""The watcher of a store's changes goes on after the operating system has refused what it needs."""

from __future__ import annotations

import asyncio
import errno
import os
from pathlib import Path
from typing import Any, cast

import pytest

from stepward.events import Hints
from stepward.store import change_watcher
from stepward.store.change_watcher import EVERY, ChangeWatcher
from stepward.store.contract import HostStore
from stepward.store.sqlite.engine.notifier import Notifier

BOUND = 10.0


class Source:
    """A store that changes once, after the first wait for its changes has failed."""

    def __init__(self) -> None:
        self.waits = 0

    def changed(self) -> bool:
        return self.waits == 1

    async def stirred(self, every: float) -> None:
        self.waits += 1
        if self.waits == 1:
            raise OSError(errno.ENOSPC, "no room for one more")
        await asyncio.Event().wait()


async def test_a_watcher_goes_on_after_a_failure_of_the_system(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(change_watcher, "AGAIN", 0.0)
    hints, heard = Hints(), asyncio.Event()
    hints.listen(heard.set)
    watcher = ChangeWatcher(cast("HostStore", Source()), hints)
    watcher.start()
    async with asyncio.timeout(BOUND):
        await heard.wait()
    await watcher.stop()
    assert [record.getMessage().count("no room for one more") for record in caplog.records] == [1]


async def test_a_pipe_that_the_loop_cannot_watch_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "no room for one more")

    monkeypatch.setattr(asyncio.get_running_loop(), "add_reader", refused)
    store = tmp_path / "tasks.db"
    store.touch()
    notifier = Notifier(str(store))
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208  no folder of ours
    await notifier.stirred(EVERY)
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208
    assert not Path(f"{store}-wake").exists()
    notifier.close()
