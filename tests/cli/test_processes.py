"""Real processes: signals, kills, pipes, and actors apart from one another."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tiers import sampled

from .conftest import SHOP
from .processes import Process, asked, done, on_terminal, running

pytestmark = pytest.mark.servers

RECORD = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z (DEBUG|INFO|WARNING|ERROR) +\S+ \S.*")
URL = "sqlite:///stepward.db"


@pytest.mark.parametrize("number", sampled((signal.SIGTERM, signal.SIGINT), signal.SIGTERM))
def test_a_signal_drains(tmp_path: Path, number: int) -> None:
    with running(tmp_path, "run", SHOP) as process:
        assert done(tmp_path, "submit", URL, "good", "1", "--wait").stdout == '{"charged": 1, "number": 1}\n'
        process.tell(number)
        assert process.read_until("Ended")[-1] == "Ended in good order."
        assert process.ended() == 0
    live = json.loads(done(tmp_path, "instances", "--json").stdout)
    assert not any(instance["alive"] for instance in live)


def test_an_operators_drain_ends_it_with_exit_code_0(tmp_path: Path) -> None:
    with running(tmp_path, "run", SHOP, STEPWARD_LEASE="3s") as process:
        instance = json.loads(asked(tmp_path, "instances", "--json").stdout)[0]["id"]
        assert asked(tmp_path, "drain", instance).returncode == 0
        again = asked(tmp_path, "drain", instance)
        assert again.returncode == 1
        assert "found it asked already" in again.stderr or "found none such" in again.stderr
        assert process.read_until("Ended")[-1] == "Ended in good order."
        assert process.ended() == 0
    live = json.loads(asked(tmp_path, "instances", "--json").stdout)
    assert not any(each["alive"] for each in live)


def test_start_prints_store_transport_and_actors(tmp_path: Path) -> None:
    process = Process(tmp_path, "run", SHOP)
    lines = process.read_until("Ready")
    process.close()
    assert re.fullmatch(r"stepward runs shop \(process \d+\)", lines[0])
    assert lines[1:] == [
        "  store       sqlite:///stepward.db",
        "  transport   local",
        "  scheduler   good@1, failing@1, undoing@1, approval@1, hanging@1",
        "  agents      payments ×7",
        "  supervisor  every 1s",
        "Ready; SIGTERM or ^C drains.",
    ]


def test_a_second_signal_ends_it_at_once(tmp_path: Path) -> None:
    with running(tmp_path, "run", SHOP, STEPWARD_DRAIN="10m") as process:
        assert asked(tmp_path, "submit", URL, "hanging", '"h"').returncode == 0
        process.read_until("hanging")
        process.tell(signal.SIGTERM)
        process.read_until("Draining for up to 10m")
        process.tell(signal.SIGTERM)
        assert process.ended() == 128 + signal.SIGTERM


def test_tasks_of_a_killed_process_are_taken_over(tmp_path: Path) -> None:
    with running(tmp_path, "run", SHOP, STEPWARD_LEASE="1s") as process:
        assert done(tmp_path, "submit", SHOP, "hanging", '"h"', "--id", "held").stdout == "held\n"
        process.read_until("hanging")
        process.tell(signal.SIGKILL)
        assert process.ended() == -signal.SIGKILL
    with running(tmp_path, "run", SHOP, STEPWARD_LEASE="1s") as heir:
        heir.read_until("hanging")
        shown = json.loads(asked(tmp_path, "show", "held", "--json").stdout)
    # Where the Supervisor watched the call already, it also has to run out of time.
    assert shown["state"] == "processing"
    assert shown["failure_count"] in (1, 2)


def test_actors_in_processes_of_their_own(tmp_path: Path) -> None:
    env = {"STEPWARD_TRANSPORT": "store"}
    with (
        running(tmp_path, "scheduler", SHOP, **env),
        running(tmp_path, "agent", SHOP, "--only", "payments", **env),
        running(tmp_path, "supervisor", URL, **env),
    ):
        waited = done(tmp_path, "submit", SHOP, "good", "4", "--wait", **env)
        assert waited.stdout == '{"charged": 4, "number": 4}\n'
        failed = done(tmp_path, "submit", URL, "failing", '"f"', "--wait", **env)
        assert failed.returncode == 1
        assert "is in error: refused by" in failed.stderr
        roles = [each["role"] for each in json.loads(done(tmp_path, "instances", "--json").stdout)]
    assert sorted(roles) == ["agent", "scheduler", "supervisor"]


def test_logs_are_one_line_a_record(tmp_path: Path) -> None:
    with running(tmp_path, "run", SHOP) as process:
        asked(tmp_path, "submit", URL, "failing", '"f"', "--wait")
        process.tell(signal.SIGTERM)
        assert process.ended() == 0
    lines = process.errors.read_text().splitlines()
    assert any("task.error" in line for line in lines)
    assert [line for line in lines if not RECORD.fullmatch(line)] == []
    assert "\x1b" not in "".join(lines)


def test_the_level_of_logs_is_a_setting(tmp_path: Path) -> None:
    with running(tmp_path, "run", SHOP, STEPWARD_LOG_LEVEL="critical") as process:
        asked(tmp_path, "submit", URL, "failing", '"f"', "--wait")
        process.tell(signal.SIGTERM)
        assert process.ended() == 0
    assert process.errors.read_text() == ""


def test_one_pass_for_cron(tmp_path: Path) -> None:
    with running(tmp_path, "scheduler", SHOP, STEPWARD_TRANSPORT="store") as process:
        process.tell(signal.SIGKILL)
        process.ended()
    result = done(tmp_path, "supervisor", "--once")
    assert result.returncode == 0
    assert re.fullmatch(r"One pass: .*\.\n", result.stdout)


def test_an_interrupted_wait_leaves_no_traceback(tmp_path: Path, filled: Path) -> None:
    (tmp_path / "stepward.db").write_bytes(filled.read_bytes())
    process = Process(tmp_path, "submit", URL, "hanging", '"h"', "--wait")
    process.says("waiting for its end")
    process.tell(signal.SIGINT)
    assert process.ended() == 130
    process.close()
    assert "Traceback" not in process.errors.read_text()


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path, filled: Path) -> None:
    (tmp_path / "stepward.db").write_bytes(filled.read_bytes())
    for args in ("tasks", "tasks --json", "show failed", "version"):
        command = f"{sys.executable} -m stepward {args} | true"
        result = subprocess.run(command, shell=True, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert result.stderr == ""


def test_a_broken_pipe_shows_in_the_exit_code_only(tmp_path: Path) -> None:
    program = (
        "import sys\n"
        "from stepward.cli.exit_codes import exit_code\n"
        "def broken(): raise BrokenPipeError\n"
        "sys.exit(exit_code(broken))\n"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (1, "")


def test_a_full_disk_is_one_line(tmp_path: Path, filled: Path) -> None:
    (tmp_path / "stepward.db").write_bytes(filled.read_bytes())
    command = f"{sys.executable} -m stepward tasks > /dev/full"
    result = subprocess.run(command, shell=True, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert result.returncode == 1
    assert re.fullmatch(r"stepward: expected room for the output, .*\n", result.stderr)


def test_a_terminal_has_colours_and_its_own_width(tmp_path: Path, filled: Path) -> None:
    (tmp_path / "stepward.db").write_bytes(filled.read_bytes())
    shown = on_terminal(tmp_path, 100, "tasks")
    assert "\x1b[1;31m✗ error" in shown
    assert "─" * 100 in shown
    assert "─" * 101 not in shown


def test_a_terminal_without_unicode(tmp_path: Path, filled: Path) -> None:
    (tmp_path / "stepward.db").write_bytes(filled.read_bytes())
    for args in (["tasks"], ["show", "failed"], ["check"]):
        result = done(tmp_path, *args, PYTHONIOENCODING="ascii")
        assert (result.returncode, result.stderr) == (1 if args == ["check"] else 0, "")
        assert result.stdout.isascii()


STUCK = """
import asyncio

from stepward import App
from stepward.cli.processes import bounded_exit as process_exit
from stepward.transport.memory.memory_transport import MemoryTransport

process_exit.LEAST_STOP_SECONDS = 0.5


async def close(self):
    while True:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            pass


MemoryTransport.close = close
app = App("stuck", store="sqlite:///stuck.db")
"""


FAILING = (
    STUCK
    + """
from stepward.host import Host


async def start(self):
    print("Started.", flush=True)
    raise RuntimeError


Host.start = start
"""
)


def test_one_signal_ends_a_process_whose_start_failed_and_whose_transport_never_closes(tmp_path: Path) -> None:
    (tmp_path / "stuck.py").write_text(FAILING)
    process = Process(tmp_path, "run", "stuck:app", STEPWARD_DRAIN="0s", STEPWARD_LEASE="1s")
    try:
        process.read_until("Started.")
        process.tell(signal.SIGTERM)
        assert process.ended() == 1
    finally:
        process.close()
    assert "expected all actors ended 1 s after the end began, found Task-" in process.errors.read_text()


def test_a_transport_that_never_answers_does_not_keep_a_process(tmp_path: Path) -> None:
    """Past its drain and its lease it ends, even if code swallows each cancellation."""
    (tmp_path / "stuck.py").write_text(STUCK)
    with running(tmp_path, "run", "stuck:app", STEPWARD_DRAIN="0s", STEPWARD_LEASE="1s") as process:
        process.tell(signal.SIGTERM)
        assert process.ended() == 1
    said = process.errors.read_text()
    assert "expected all actors ended 1 s after the end began, found Task-" in said
