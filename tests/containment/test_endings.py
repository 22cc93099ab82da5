"""What does not stop keeps no process from ending, and is shown while it runs."""

from __future__ import annotations

import json
import re
import signal
import threading
from pathlib import Path

import pytest
from click.testing import CliRunner

from stepward.cli.main import cli
from tests.cli.processes import asked, looks, running
from tests.tiers import sampled

pytestmark = pytest.mark.servers

APP = f"{Path(__file__).with_name('application.py')}:app"
URL = "sqlite:///stepward.db"


@pytest.mark.parametrize("where", sampled(("coroutine", "thread", "step"), "thread"))
def test_what_does_not_stop_keeps_no_process_from_ending(tmp_path: Path, where: str) -> None:
    with running(tmp_path, "run", APP, STEPWARD_DRAIN="1s") as process:
        assert asked(tmp_path, "submit", URL, "staying", f'"{where}"').returncode == 0
        process.read_until("stays")
        process.tell(signal.SIGTERM)
        said = process.read_until("Ended")[-1]
        assert process.ended() == 0
        errors = process.errors.read_text()
    if where == "step":
        assert re.fullmatch(
            r"Ended; functions that do not return were abandoned: stay_here in thread local-step_1, "
            r"at application\.py:\d+ in stay_here\.",
            said,
        )
    else:
        assert said == "Ended in good order."
    if where == "coroutine":
        assert "agent.call_stuck agent=slow operation=slow.stay" in errors
    if where == "thread":
        assert "ended all the same" in errors.splitlines()[-1]


def test_steps_that_do_not_stop_are_shown(tmp_path: Path) -> None:
    with running(tmp_path, "run", APP, STEPWARD_LEASE="1s") as process:
        assert asked(tmp_path, "submit", URL, "staying", '"step"').returncode == 0
        process.says("scheduler.step_stuck")
        for _ in looks():
            if "expected every call of local steps to stop" in " ".join(asked(tmp_path, "check").stdout.split()):
                break
        else:
            raise AssertionError("expected stepward check to tell of what does not stop")
        instances = json.loads(asked(tmp_path, "instances", "--json").stdout)
        (health,) = next(each["health"] for each in instances if each["role"] == "scheduler")
        assert health["stuck"] >= 1


def test_a_command_run_within_another_program_ends_that_program_never(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STEPWARD_STORE", "sqlite:////nowhere/stepward.db")
    CliRunner().invoke(cli, ["run", APP])
    assert [thread.name for thread in threading.enumerate() if thread.name == "stepward-end"] == []
