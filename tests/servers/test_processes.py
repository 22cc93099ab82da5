"""How the example keeps its processes: none is lost unnoticed, none outlives its group."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from servers.keeper import process as process_module
from servers.keeper.group import Group
from servers.keeper.process import Process, ProcessDied, Upkeep

pytestmark = pytest.mark.servers

ODD = "tests.servers.odd_process"


def _is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.fixture
async def child(monkeypatch: pytest.MonkeyPatch) -> asyncio.Future[asyncio.subprocess.Process]:
    """The next process of this one's, once there is one."""
    execute = asyncio.create_subprocess_exec
    child: asyncio.Future[asyncio.subprocess.Process] = asyncio.get_running_loop().create_future()

    async def noted(*command: str, **options: Any) -> asyncio.subprocess.Process:
        child.set_result(await execute(*command, **options))
        return child.result()

    monkeypatch.setattr(asyncio, "create_subprocess_exec", noted)
    return child


async def test_a_process_that_dies_is_lost_with_its_last_log_lines(tmp_path: Path) -> None:
    group = Group()
    process = Process("worker-1", ODD, "meek", upkeep=Upkeep(logs=tmp_path, on_loss=group.lose))
    await group.start(process)
    (tmp_path / "worker-1.log").write_text("one\ntwo\nthree\nwoe is me\n")
    os.kill(process.pid, signal.SIGKILL)
    with pytest.raises(ProcessDied, match="worker-1 exited with -9, unasked; it said last: two / three / woe is me"):
        await group.watch()
    await group.stop()


async def test_a_process_that_is_ended_is_not_lost() -> None:
    lost: list[ProcessDied] = []
    process = Process("meek", ODD, "meek", upkeep=Upkeep(on_loss=lost.append))
    await process.start()
    assert await process.kill() == -signal.SIGKILL
    await process.start()
    assert await process.terminate() == -signal.SIGTERM
    assert (process.starts, lost) == (2, [])


async def test_a_process_that_cannot_start_reports_the_reason(tmp_path: Path) -> None:
    process = Process("worker-1", ODD, "lost", upkeep=Upkeep(logs=tmp_path))
    expected = "worker-1 exited with 1 before it was ready; it said last: there is no place to be"
    with pytest.raises(ProcessDied, match=expected):
        await process.start()
    assert await process.terminate() == 1


async def test_a_process_that_is_never_ready_is_given_up(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, child: asyncio.Future[asyncio.subprocess.Process]
) -> None:
    monkeypatch.setattr(process_module, "READY_SECONDS", 0.1)
    process = Process("mute", ODD, "mute", upkeep=Upkeep(logs=tmp_path))
    with pytest.raises(ProcessDied, match=r"mute was not ready within 0.1 s; it said last: nothing"):
        await process.start()
    assert await process.terminate() is None
    assert child.result().returncode == -signal.SIGKILL


async def test_a_process_that_ignores_sigterm_is_killed() -> None:
    process = Process("deaf", ODD, "deaf", upkeep=Upkeep(stop_seconds=0.1))
    await process.start()
    assert await process.terminate() == -signal.SIGKILL
    assert not _is_there(process.pid)


async def test_a_process_that_dies_is_restarted_and_that_is_reported() -> None:
    told: list[str] = []
    async with Process("meek", ODD, "meek", upkeep=Upkeep(restarting=True, on_revival=told.append)) as process:
        os.kill(process.pid, signal.SIGKILL)
        await process.started(2)
        assert _is_there(process.pid)
    assert told == ["meek died (signal 9) and was started again"]
    assert not _is_there(process.pid)


async def test_a_process_that_never_comes_back_is_lost(tmp_path: Path) -> None:
    group = Group()
    upkeep = Upkeep(logs=tmp_path, restarting=True, on_loss=group.lose)
    process = Process("once", ODD, "once", str(tmp_path / "trace"), upkeep=upkeep)
    await group.start(process)
    os.kill(process.pid, signal.SIGKILL)
    with pytest.raises(ProcessDied, match="once exited with 1 before it was ready"):
        await group.watch()
    await group.stop()
    assert (tmp_path / "once.log").read_text().count("no place") == process_module.MOST_FAILED_STARTS


async def test_a_group_of_which_one_cannot_start_leaves_none() -> None:
    group = Group()
    upkeep = Upkeep(on_loss=group.lose)
    first, second = Process("meek", ODD, "meek", upkeep=upkeep), Process("late", ODD, "late", upkeep=upkeep)
    await group.start(first)
    with pytest.raises(ProcessDied, match="lost exited with 1"):
        await group.start(Process("lost", ODD, "lost", upkeep=upkeep), second)
    await group.stop()
    assert [_is_there(process.pid) for process in (first, second)] == [False, False]


async def test_a_group_ends_its_latest_wave_first(monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[str] = []
    terminate = Process.terminate

    async def noted(process: Process) -> int | None:
        code = await terminate(process)
        ended.append(process.name)
        return code

    monkeypatch.setattr(Process, "terminate", noted)
    group = Group()
    for name in ("first", "second", "third"):
        await group.start(Process(name, ODD, name))
    await group.stop()
    assert ended == ["third", "second", "first"]


async def test_a_start_that_is_given_up_leaves_nothing(child: asyncio.Future[asyncio.subprocess.Process]) -> None:
    starting = asyncio.create_task(Process("mute", ODD, "mute").start())
    await asyncio.wait([child])
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    assert child.result().returncode == -signal.SIGKILL


async def test_a_running_process_is_restarted_and_not_started_twice() -> None:
    async with Process("meek", ODD, "meek") as process:
        with pytest.raises(RuntimeError, match=r"meek has been started already: use restart\(\)"):
            await process.start()
        pid = process.pid
        await process.restart()
        assert process.pid != pid
