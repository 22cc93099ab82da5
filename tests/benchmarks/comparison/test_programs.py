"""The driver's side of the contract: programs that fail in each way are reported in one line, and leave no process."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from benchmarks.comparison import programs
from benchmarks.comparison.process_trees import Usage, descendants, usage
from benchmarks.comparison.programs import ProgramFailed, started
from tests.until import until

READY = "import json, sys\nprint(json.dumps({'ready': 1}), flush=True)\n"
ECHO = f"{READY}for line in sys.stdin: print(line, flush=True, end='')\n"
REFUSING = f"{READY}for line in sys.stdin: print(json.dumps({{'error': 'no such table'}}), flush=True)\n"
SILENT = f"{READY}sys.stdin.read()\n"
ENDING = f"{READY}sys.stdin.readline()\nsys.exit('the disk is full')\n"
PARENT = f"""{READY}import subprocess
child = subprocess.Popen(['sleep', '600'], stdout=subprocess.DEVNULL)
for line in sys.stdin: print(json.dumps({{'pid': child.pid}}), flush=True)
"""


def _command(program: str) -> list[str]:
    return [sys.executable, "-c", program]


async def test_an_order_is_answered() -> None:
    async with started(_command(ECHO), {}) as program:
        assert await program.do("ten", seconds=1.0) == {"work": "ten", "seconds": 1.0}


async def test_an_error_is_reported_with_the_work() -> None:
    async with started(_command(REFUSING), {}) as program:
        with pytest.raises(ProgramFailed, match=r"^ten: no such table$"):
            await program.do("ten")


async def test_the_last_line_of_a_program_that_ended_is_reported() -> None:
    async with started(_command(ENDING), {}) as program:
        with pytest.raises(ProgramFailed, match="found that the program ended: the disk is full"):
            await program.do("ten")


async def test_a_program_that_does_not_answer_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "ORDER_SECONDS", 0.01)
    async with started(_command(SILENT), {}) as program:
        with pytest.raises(ProgramFailed, match="ten: expected an answer within 0 s, found none"):
            await program.do("ten")


async def test_a_program_that_is_not_installed_is_reported(tmp_path: Path) -> None:
    with pytest.raises(ProgramFailed, match=r"start: .*No such file"):
        async with started([str(tmp_path / "python")], {}):
            pass


async def test_children_of_a_program_end_with_it() -> None:
    async with started(_command(PARENT), {}) as program:
        child = (await program.do("child"))["pid"]
        assert child in descendants(program.pid)
    await until(lambda: _has_ended(child))


async def test_usage_is_of_the_whole_tree() -> None:
    async with started(_command(PARENT), {}) as program:
        await program.do("child")
        used = usage(program.pid)
        assert used.memory_bytes > usage((await program.do("child"))["pid"]).memory_bytes > 0
        assert used.written_bytes > 0


def test_no_process_uses_nothing() -> None:
    assert usage(None) == Usage()


def test_usage_since_is_of_counters_and_not_of_memory() -> None:
    assert Usage(5.0, 70.0, 900.0).since(Usage(2.0, 60.0, 300.0)) == Usage(3.0, 70.0, 600.0)


async def _has_ended(pid: int) -> bool:
    """Whether a process is gone, or waits to be reaped."""
    try:
        return "\nState:\tZ" in Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return True
