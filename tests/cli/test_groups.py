"""Many processes of one application: begun together, restarted when they die, and drained together."""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from stepward.cli.processes.restarts import FIRST_PAUSE, LONGEST_PAUSE, STARTS, STEADY_SECONDS, Slot, SlotEnd
from tests.tiers import sampled

from .conftest import SHOP, Stepward, one_line
from .groups import are_over, grouped, watched
from .processes import Process, asked, done

pytestmark = pytest.mark.servers

URL = "sqlite:///stepward.db"
GONE = "sqlite:////nowhere/at/all.db"


def instances(folder: Path) -> dict[int, set[str]]:
    """The live roles by process."""
    live = [each for each in json.loads(asked(folder, "instances", "--json").stdout) if each["alive"]]
    return {each["pid"]: {other["role"] for other in live if other["pid"] == each["pid"]} for each in live}


def test_every_process_runs_every_actor_on_one_store(tmp_path: Path) -> None:
    with grouped(tmp_path, SHOP, 3) as group:
        assert instances(tmp_path) == {pid: {"scheduler", "agent", "supervisor"} for pid in group.pids.values()}
        assert len(group.pids) == 3
        assert asked(tmp_path, "submit", URL, "good", "1", "--wait").stdout == '{"charged": 1, "number": 1}\n'


def test_the_parent_prints_the_actors_of_each_child(tmp_path: Path) -> None:
    process = Process(tmp_path, "run", SHOP, "--processes", "2")
    lines = process.read_until("Ready")
    process.close()
    assert re.fullmatch(r"stepward runs shop \(process \d+\)", lines[0])
    assert lines[5:7] == ["  supervisor  every 1s", "  processes   2"]
    assert [re.sub(r"pid \d+", "pid", line) for line in lines[7:]] == [
        "process 1 (pid) is at work.",
        "process 2 (pid) is at work.",
        "Ready; SIGTERM or ^C drains.",
    ]


@pytest.mark.parametrize("number", sampled((signal.SIGTERM, signal.SIGINT), signal.SIGTERM))
def test_a_signal_drains_them_all(tmp_path: Path, number: int) -> None:
    with grouped(tmp_path, SHOP, 2) as group:
        group.process.tell(number)
        assert group.process.read_until("Ended") == [
            "Draining for up to 10s; a second signal ends it at once.",
            "Ended in good order.",
        ]
        assert group.process.ended() == 0
    assert instances(tmp_path) == {}


def test_a_signal_that_reaches_the_children_too_is_still_the_first(tmp_path: Path) -> None:
    with grouped(tmp_path, SHOP, 2, STEPWARD_DRAIN="2s") as group:
        assert asked(tmp_path, "submit", URL, "hanging", '"h"').returncode == 0
        group.process.read_until("hanging")
        group.process.tell(signal.SIGTERM)
        group.process.read_until("Draining")
        for pid in group.pids.values():
            os.kill(pid, signal.SIGTERM)
        assert group.process.read_until("Ended") == ["Ended in good order."]
        assert group.process.ended() == 0


def test_a_second_signal_ends_them_all_at_once(tmp_path: Path) -> None:
    with (
        grouped(tmp_path, SHOP, 2, STEPWARD_DRAIN="10m") as group,
        watched(list(group.pids.values())) as children,
    ):
        assert asked(tmp_path, "submit", URL, "hanging", '"h"').returncode == 0
        group.process.read_until("hanging")
        group.process.tell(signal.SIGTERM)
        group.process.read_until("Draining")
        group.process.tell(signal.SIGTERM)
        assert group.process.ended() == 128 + signal.SIGTERM
        assert are_over(children)


def test_a_process_that_is_killed_is_started_again(tmp_path: Path) -> None:
    with grouped(tmp_path, SHOP, 2) as group:
        dead, other = group.pids[1], group.pids[2]
        os.kill(dead, signal.SIGKILL)
        said = group.heir(1)
        assert said == f"process 1 (pid {dead}) was killed by SIGKILL; another begins in 500ms."
        assert group.pids[1] != dead
        assert {group.pids[1], other} <= set(instances(tmp_path))
        group.process.tell(signal.SIGTERM)
        assert group.process.ended() == 0


def test_a_child_that_gets_sigterm_drains_and_is_restarted(tmp_path: Path) -> None:
    with grouped(tmp_path, SHOP, 2) as group:
        told = group.pids[2]
        os.kill(told, signal.SIGTERM)
        assert group.heir(2) == f"process 2 (pid {told}) ended in good order; another begins in 500ms."
        assert set(instances(tmp_path)) == set(group.pids.values())


def test_a_child_that_is_drained_is_not_restarted_and_the_others_go_on(tmp_path: Path) -> None:
    with grouped(tmp_path, SHOP, 2) as group:
        told = group.pids[2]
        live = json.loads(asked(tmp_path, "instances", "--json").stdout)
        instance = next(each["id"] for each in live if each["pid"] == told and each["role"] == "agent")
        said = asked(tmp_path, "drain", instance).stdout
        assert said == f"instance {instance}: drains with its next heartbeat\n"
        lines = group.process.read_until("process 2")
        assert lines[-1] == (
            f"process 2 (pid {told}) was drained, and ended in good order; no other begins in its place."
        )
        assert set(instances(tmp_path)) == {group.pids[1]}
        assert asked(tmp_path, "submit", URL, "good", "1", "--wait").stdout == '{"charged": 1, "number": 1}\n'
        group.process.tell(signal.SIGTERM)
        assert group.process.ended() == 0


def test_no_process_outlives_a_parent_that_was_killed(tmp_path: Path) -> None:
    with grouped(tmp_path, SHOP, 2) as group, watched(list(group.pids.values())) as children:
        group.process.tell(signal.SIGKILL)
        assert group.process.ended() == -signal.SIGKILL
        assert are_over(children)
    assert instances(tmp_path) == {}  # They drained.


def test_a_process_that_does_not_end_in_time_is_killed(tmp_path: Path) -> None:
    env = {"STEPWARD_DRAIN": "0s", "STEPWARD_LEASE": "1s"}
    with grouped(tmp_path, SHOP, 2, **env) as group, watched(list(group.pids.values())) as children:
        os.kill(group.pids[2], signal.SIGSTOP)
        stopped = group.pids[2]
        group.process.tell(signal.SIGTERM)
        said = group.process.read_until("process 2")
        assert said[-1] == f"process 2 (pid {stopped}) was killed by SIGKILL."
        assert group.process.ended() == 1
        assert are_over(children)


@pytest.mark.faults
def test_children_whose_loop_stands_still_do_not_outlive_their_parent(tmp_path: Path) -> None:
    (tmp_path / "stuck.py").write_text(
        "import threading\n"
        "from stepward import App, workflow\n"
        "@workflow\n"
        "async def stuck() -> None:\n"
        "    print('stuck', flush=True)\n"
        "    threading.Event().wait()\n"
        "app = App('stuck', workflows=[stuck])\n"
    )
    env = {"STEPWARD_DRAIN": "0s", "STEPWARD_LEASE": "1s"}
    with grouped(tmp_path, "stuck:app", 1, **env) as group, watched(list(group.pids.values())) as children:
        assert asked(tmp_path, "submit", URL, "stuck").returncode == 0
        group.process.read_until("stuck")
        group.process.tell(signal.SIGKILL)
        assert are_over(children)
    assert "stepward: process 1: expected an end within 1 s, found none: ended" in group.process.errors.read_text()


def test_logs_say_which_process_they_come_from(tmp_path: Path) -> None:
    with grouped(tmp_path, SHOP, 2) as group:
        asked(tmp_path, "submit", URL, "failing", '"f"', "--wait")
        group.process.tell(signal.SIGTERM)
        assert group.process.ended() == 0
    lines = group.process.errors.read_text().splitlines()
    assert any("task.error" in line for line in lines)
    record = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z (DEBUG|INFO|WARNING|ERROR) +\[[12]\] \S+ \S.*")
    assert [line for line in lines if not record.fullmatch(line)] == []


@pytest.mark.faults
def test_processes_that_cannot_start_end_the_whole_with_their_code(tmp_path: Path) -> None:
    result = done(tmp_path, "run", SHOP, "--processes", "3", STEPWARD_STORE=GONE)
    assert result.returncode == 3
    assert (
        result.stderr == "stepward: store /nowhere/at/all.db: expected the folder /nowhere/at, found none; create it\n"
    )
    tried = [line for line in result.stdout.splitlines() if line.startswith("process")]
    assert [re.sub(r"pid \d+|: store.*;", "", line) for line in tried] == [
        "process 1 () ended with code 3 before it was at work another begins in 500ms.",
        "process 1 () ended with code 3 before it was at work another begins in 1s.",
    ]


@pytest.mark.faults
def test_children_that_die_silently_end_the_group(tmp_path: Path) -> None:
    (tmp_path / "dying.py").write_text(
        "import os, sys\n"
        "from stepward import App\n"
        "'--child' in sys.argv and os.kill(os.getpid(), 9)\n"
        "app = App('dying')\n"
    )
    result = done(tmp_path, "run", "dying:app", "--processes", "2")
    assert result.returncode == 128 + signal.SIGKILL
    assert re.fullmatch(
        r"stepward: process 1 \(pid \d+\): expected it to start, found that it was killed by SIGKILL before it was at "
        r"work; look at its log\n",
        result.stderr,
    )


def test_a_configuration_error_at_the_first_start_is_not_retried(tmp_path: Path) -> None:
    _too_new(tmp_path)
    result = done(tmp_path, "run", SHOP, "--processes", "2")
    assert result.returncode == 2
    assert result.stderr.startswith("stepward: store ")
    assert [line for line in result.stdout.splitlines() if line.startswith("process")] == []


@pytest.mark.faults
def test_a_configuration_error_beside_a_working_child_is_not_retried(tmp_path: Path) -> None:
    with grouped(tmp_path, SHOP, 2) as group:
        _too_new(tmp_path)
        os.kill(group.pids[1], signal.SIGKILL)
        group.process.read_until("process 1")
        said = group.process.read_until("process 1")[-1]
        assert "ended with code 2 before it was at work: store" in said
        assert said.endswith("upgrade this program; no other begins in its place.")
        os.kill(group.pids[2], signal.SIGKILL)
        group.process.read_until("process 2")
        assert group.process.ended() == 2


@pytest.mark.faults
def test_a_child_that_cannot_start_is_retried_beside_a_working_one(tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    with grouped(tmp_path, SHOP, 2, STEPWARD_STORE="sqlite:///here/shop.db") as group:
        (tmp_path / "here").rename(tmp_path / "there")
        os.kill(group.pids[1], signal.SIGKILL)
        for _ in range(STARTS + 1):
            said = group.process.read_until("process 1")[-1]
        assert "ended with code 3 before it was at work: store" in said
        assert said.endswith("; another begins in 4s.")


def _too_new(folder: Path) -> None:
    """Make the store one of a later version."""
    with closing(sqlite3.connect(folder / "stepward.db")) as store, store:
        store.execute("create table if not exists stepward_meta (key text primary key, value text)")
        store.execute("insert or replace into stepward_meta values ('schema_version', '999')")


@pytest.mark.parametrize("count", ["0", "65", "-1", "two", "", "1.5"])
def test_a_number_of_processes_that_cannot_be_is_one_line(empty: Path, stepward: Stepward, count: str) -> None:
    result = stepward("run", SHOP, "--processes", count)
    assert result.exit_code == 2
    assert "Invalid value for '--processes'" in one_line(result)


def test_an_invalid_application_is_reported_before_any_start(empty: Path, stepward: Stepward) -> None:
    result = stepward("run", "nowhere:app", "--processes", "2")
    assert result.exit_code == 2
    assert "expected the module nowhere" in one_line(result)


def test_pauses_grow_up_to_a_bound_and_begin_again_after_steady_work() -> None:
    place = Slot(1)
    pauses = [place.pause_after(SlotEnd(1, worked=1.0)) for _ in range(9)]
    assert pauses[:3] == [FIRST_PAUSE, 2 * FIRST_PAUSE, 4 * FIRST_PAUSE]
    assert pauses[-1] == LONGEST_PAUSE
    assert place.pause_after(SlotEnd(1, worked=STEADY_SECONDS)) == FIRST_PAUSE


def test_a_start_that_succeeds_forgives_those_that_failed() -> None:
    place = Slot(1)
    place.pause_after(SlotEnd(3))
    assert place.failed_starts == 1
    place.began()
    assert place.failed_starts == 0


@pytest.mark.parametrize(
    ("end", "how"),
    [
        (SlotEnd(0, worked=1.0), "ended in good order"),
        (SlotEnd(2), "ended with code 2 before it was at work"),
        (SlotEnd(-9, worked=1.0), "was killed by SIGKILL"),
        (SlotEnd(-70, worked=1.0), "was killed by signal 70"),
    ],
)
def test_an_end_in_words(end: SlotEnd, how: str) -> None:
    assert end.how == how
