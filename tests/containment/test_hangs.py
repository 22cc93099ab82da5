"""Code that never yields: its process ends, it is counted, it stops at the second time, and everything else goes on."""

from __future__ import annotations

import asyncio
import json
import signal
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from stepward import Client, TaskFailed
from tests.cli.processes import PATIENCE, Process, asked, looks, running
from tests.tiers import sampled

pytestmark = pytest.mark.servers

APP = f"{Path(__file__).with_name('application.py')}:app"
URL = "sqlite:///stepward.db"
HASTY = {"STEPWARD_LEASE": "1s", "STEPWARD_HANG_LIMIT": "2s", "STEPWARD_POLL": "100ms"}
ENDS = ("error", "processed")
PLACES = {
    "spin": "in spin",
    "sleep": "in sleep",
    "match": "in match",
    "done_futures": "in done_futures",
}


def shown(folder: Path, task: str) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(asked(folder, "show", task, "--json").stdout)
    return read


async def ended(folder: Path, task: str) -> None:
    async with Client(f"sqlite:///{folder}/stepward.db", app="containment") as client:
        with suppress(TaskFailed):
            await client.task(task).result(timeout=PATIENCE)


def in_state(folder: Path, task: str, state: str) -> dict[str, Any]:
    if state in ENDS:
        asyncio.run(ended(folder, task))
    for _ in looks():
        read = shown(folder, task)
        if read["state"] == state:
            return read
    raise AssertionError(f"expected {task} in {state}, found {read}")


def last_line(process: Process) -> str:
    return process.errors.read_text().splitlines()[-1]


@pytest.mark.parametrize("way", sampled(PLACES, "spin"))
def test_workflow_code_that_never_yields_ends_two_processes_and_no_third(tmp_path: Path, way: str) -> None:
    with running(tmp_path, "run", APP, **HASTY) as first:
        assert asked(tmp_path, "submit", URL, "patient", "--id", "innocent").returncode == 0
        assert asked(tmp_path, "submit", URL, "bad", f'"{way}"', "--id", "culprit").returncode == 0
        assert first.ended() == 1
        assert "task culprit (bad@1) at application.py:" in last_line(first)
        assert PLACES[way] in last_line(first)
        assert "counted as its hang no. 1" in last_line(first)
    assert shown(tmp_path, "culprit")["state"] == "pending"
    with running(tmp_path, "run", APP, **HASTY) as second:
        assert second.ended() == 1
        assert "counted as its hang no. 2" in last_line(second)
    with running(tmp_path, "run", APP, **HASTY) as third:
        found = in_state(tmp_path, "culprit", "error")
        assert asked(tmp_path, "submit", URL, "good", "7", "--wait").stdout == "7\n"
        assert found["error"]["type"] == "Hangs"
        assert PLACES[way] in found["error"]["message"]
        assert in_state(tmp_path, "innocent", "waiting")["failure_count"] == 0
        assert "culprit" in asked(tmp_path, "alerts").stdout
        third.tell(signal.SIGTERM)
        assert third.ended() == 0


def test_workflow_code_that_blocks_for_longer_than_the_lease_stops_at_the_second_time(tmp_path: Path) -> None:
    env = {**HASTY, "STEPWARD_HANG_LIMIT": "1m"}
    with running(tmp_path, "run", APP, **env) as process:
        assert asked(tmp_path, "submit", URL, "blocking", "2", "--id", "culprit").returncode == 0
        found = in_state(tmp_path, "culprit", "error")
        assert (found["error"]["type"], "in blocking" in found["error"]["message"]) == ("Hangs", True)
        assert asked(tmp_path, "submit", URL, "good", "7", "--wait").stdout == "7\n"
        process.tell(signal.SIGTERM)
        assert process.ended() == 0


def test_a_process_that_is_killed_while_it_hangs_has_counted(tmp_path: Path) -> None:
    env = {**HASTY, "STEPWARD_HANG_LIMIT": "never"}
    for _ in range(2):
        with running(tmp_path, "run", APP, **env) as process:
            if not (tmp_path / "begun").exists():
                (tmp_path / "begun").touch()
                assert asked(tmp_path, "submit", URL, "bad", '"spin"', "--id", "culprit").returncode == 0
            process.says("task.hung")
            process.tell(signal.SIGKILL)
            process.ended()
    with running(tmp_path, "run", APP, **HASTY):
        assert in_state(tmp_path, "culprit", "error")["error"]["type"] == "Hangs"


@pytest.mark.parametrize("what", sampled(("operation", "step", "transaction"), "operation"))
def test_an_operation_or_step_that_blocks_the_loop_is_counted_on_its_task(tmp_path: Path, what: str) -> None:
    with running(tmp_path, "run", APP, **HASTY) as first:
        assert asked(tmp_path, "submit", URL, "asking", f'"{what}"', "--id", "culprit").returncode == 0
        assert first.ended() == 1
        assert "/1 of task culprit at application.py:" in last_line(first)
        assert "counted as its hang no. 1" in last_line(first)
    with running(tmp_path, "run", APP, **HASTY) as second:
        assert second.ended() == 1
    with running(tmp_path, "run", APP, **HASTY):
        assert in_state(tmp_path, "culprit", "error")["error"]["type"] == "Hangs"


def test_a_group_outlives_what_hangs_in_it(tmp_path: Path) -> None:
    with running(tmp_path, "run", APP, "--processes", "2", **HASTY) as group:
        assert asked(tmp_path, "submit", URL, "bad", '"spin"', "--id", "culprit").returncode == 0
        in_state(tmp_path, "culprit", "error")
        assert asked(tmp_path, "submit", URL, "good", "7", "--wait").stdout == "7\n"
        # A process that ends by a hang while the group drains would count as one that failed.
        deaths = 0
        while deaths < 2:
            deaths += "another begins" in group.read_until("process ")[-1]
        group.tell(signal.SIGTERM)
        assert group.ended() == 0
    assert group.errors.read_text().count("in spin (counted as its hang no. ") == 2


def test_a_resubmitted_task_is_counted_again(tmp_path: Path) -> None:
    env = {**HASTY, "STEPWARD_HANG_LIMIT": "1m"}
    with running(tmp_path, "run", APP, **env):
        assert asked(tmp_path, "submit", URL, "blocking", "2", "--id", "culprit").returncode == 0
        in_state(tmp_path, "culprit", "error")
        (tmp_path / "mended").touch()
        assert asked(tmp_path, "resubmit", "culprit").returncode == 0
        assert in_state(tmp_path, "culprit", "processed")["output"] == "back"
