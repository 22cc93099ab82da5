"""`python -m torture` ends everything that it started when a signal ends it, also when another signal follows."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from servers.keeper.process import ROOT
from torture.signals import Ending

WITHIN = 120.0


@pytest.mark.faults
@pytest.mark.servers
@pytest.mark.timeout(300)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
async def test_two_signals_leave_no_process_behind(number: signal.Signals) -> None:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "torture", "--minutes", "5", "--seed", "7", "--transport", "store"),
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdout is not None
    async with asyncio.timeout(WITHIN):
        while b"everything is at work" not in (line := await process.stdout.readline()):
            assert line, "expected the torture to begin"
    started = _descendants(process.pid)
    process.send_signal(number)
    async with asyncio.timeout(WITHIN):
        # The first process that ends shows that the cleanup has begun: the second signal comes in the middle of it.
        while all(_is_there(pid) for pid in started):  # noqa: ASYNC110  no event tells of another process's child
            await asyncio.sleep(0.01)
        with suppress(ProcessLookupError):
            process.send_signal(number)
        await process.communicate()
    assert process.returncode == 128 + number
    assert [pid for pid in started if _is_there(pid)] == []


def _descendants(pid: int) -> list[int]:
    children = [int(each) for task in Path(f"/proc/{pid}/task").iterdir() for each in _words(task / "children")]
    return [*children, *(each for child in children for each in _descendants(child))]


def _words(file: Path) -> list[str]:
    try:
        return file.read_text().split()
    except (FileNotFoundError, ProcessLookupError):
        return []


def _is_there(pid: int) -> bool:
    """Whether a process runs; one that has ended and was not waited for does not."""
    try:
        os.kill(pid, 0)
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except (ProcessLookupError, FileNotFoundError):
        return False


async def test_a_signal_cancels_the_work_and_a_second_one_changes_nothing() -> None:
    ending = Ending()
    begun, over = asyncio.Event(), asyncio.Event()

    async def work() -> None:
        try:
            begun.set()
            await asyncio.get_running_loop().create_future()
        finally:
            await asyncio.sleep(0)
            over.set()

    working = asyncio.create_task(ending.bound(work()))
    await begun.wait()
    ending.hear(signal.SIGTERM, None)
    await asyncio.sleep(0)
    ending.hear(signal.SIGTERM, None)
    with pytest.raises(asyncio.CancelledError):
        await working
    assert (over.is_set(), ending.exit_code) == (True, 128 + signal.SIGTERM)


def test_a_signal_before_the_work_exits_and_one_after_it_is_ignored() -> None:
    ending = Ending()
    with pytest.raises(SystemExit) as ended:
        ending.hear(signal.SIGINT, None)
    assert ended.value.code == 128 + signal.SIGINT
    late = Ending()
    asyncio.run(late.bound(asyncio.sleep(0)))
    late.hear(signal.SIGTERM, None)
    assert late.exit_code is None
