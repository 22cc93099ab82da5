"""A second signal ends a process whatever hangs in it; what raises like a signal ends a task alone."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.cli.processes import asked, running
from tests.tiers import sampled

pytestmark = pytest.mark.servers

APP = f"{Path(__file__).with_name('application.py')}:app"
URL = "sqlite:///stepward.db"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("way", sampled(("spin", "sleep", "match", "done_futures"), "spin"))
def test_a_second_signal_ends_a_process_whose_loop_hangs(tmp_path: Path, way: str, number: int) -> None:
    with running(tmp_path, "run", APP) as process:
        assert asked(tmp_path, "submit", URL, "bad", f'"{way}"').returncode == 0
        process.read_until("begins")
        process.tell(number)
        assert process.read_until("Draining")[-1].endswith("a second signal ends it at once.")
        process.tell(signal.SIGTERM if number == signal.SIGINT else signal.SIGINT)
        assert process.ended() in (128 + signal.SIGTERM, 128 + signal.SIGINT)
        last = process.errors.read_text().splitlines()[-1]
    assert last.startswith("stepward: expected to drain, found a second signal (SIG")


@pytest.mark.parametrize("way", sampled(("interrupt", "leave", "close"), "interrupt"))
def test_what_raises_like_a_signal_ends_its_task_and_no_process(tmp_path: Path, way: str) -> None:
    with running(tmp_path, "run", APP) as process:
        failed = asked(tmp_path, "submit", URL, "bad", f'"{way}"', "--wait")
        assert (failed.returncode, "typo" in failed.stderr) == (1, True)
        assert asked(tmp_path, "submit", URL, "good", "7", "--wait").stdout == "7\n"
        process.tell(signal.SIGINT)
        assert process.ended() == 0


ESCAPES = [(where, way) for where in ("operation", "step") for way in ("beside", "callback", "loop")]


@pytest.mark.parametrize(("where", "way"), sampled(ESCAPES, ("operation", "beside")))
def test_what_leaves_the_loop_past_its_call_fails_its_attempt_and_ends_no_process(
    tmp_path: Path, where: str, way: str
) -> None:
    with running(tmp_path, "run", APP) as process:
        failed = asked(tmp_path, "submit", URL, "escaping", f'"{where}"', f'"{way}"', "--wait")
        assert (failed.returncode, "typo" in failed.stderr) == (1, True)
        process.tell(signal.SIGINT)
        assert process.ended() == 0
        assert "code of the application stopped the event loop" in process.errors.read_text()
