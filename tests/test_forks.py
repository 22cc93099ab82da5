"""Programs that are begun as forks are like those that are begun by an interpreter."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.forks import FORKS, Forks

pytestmark = [pytest.mark.servers, pytest.mark.skipif(sys.platform != "linux", reason="forks are adopted on Linux")]

PROGRAM = """
import os, sys
print(sys.argv[1:], os.getcwd(), os.environ.get("MINE"), os.getpid() == os.getsid(0), sys.stdin.read(), __name__)
print("an error", file=sys.stderr)
sys.exit(3)
"""
WAITS = "import time\nprint('waits', flush=True)\ntime.sleep(600)"
FAILS = "raise ValueError('wrong')"


@pytest.fixture
def forks(monkeypatch: pytest.MonkeyPatch) -> Iterator[Forks]:
    monkeypatch.setattr(subprocess.Popen, "_execute_child", subprocess.Popen._execute_child)  # type: ignore[attr-defined]
    monkeypatch.setattr(FORKS, "is_wanted", False)
    forks = Forks()
    forks.install()
    yield forks
    forks.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in (("program", PROGRAM), ("waits", WAITS), ("fails", FAILS)):
        (tmp_path / f"{name}.py").write_text(text)
    return tmp_path


def test_a_fork_has_the_words_folder_variables_files_session_and_end_of_its_own(forks: Forks, folder: Path) -> None:
    def run() -> tuple[int, str, str]:
        ended = subprocess.run(
            [sys.executable, "-m", "program", "one", "two"],
            cwd=folder,
            env={**os.environ, "MINE": "yes"},
            input="typed",
            capture_output=True,
            text=True,
            start_new_session=True,
            check=False,
        )
        return ended.returncode, ended.stdout, ended.stderr

    forked = run()
    assert forks.count == 1
    forks.is_wanted = False
    assert run() == forked == (3, f"['one', 'two'] {folder} yes True typed __main__\n", "an error\n")
    assert forks.count == 1


def test_a_fork_is_a_child_that_signals_reach_and_an_exception_ends(forks: Forks, folder: Path) -> None:
    with subprocess.Popen([sys.executable, "-m", "waits"], cwd=folder, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"waits\n"
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
    failed = subprocess.run([sys.executable, "-m", "fails"], cwd=folder, capture_output=True, text=True, check=False)
    assert (failed.returncode, failed.stderr.splitlines()[-1]) == (1, "ValueError: wrong")
    assert forks.count == 2


@pytest.mark.parametrize("variable", ["PYTHONHASHSEED", "LD_PRELOAD", "LC_ALL"])
def test_a_program_whose_interpreter_would_begin_otherwise_is_not_forked(
    forks: Forks, folder: Path, variable: str
) -> None:
    environment = {**os.environ, variable: "1" if variable != "LC_ALL" else "C"}
    command = [sys.executable, "-m", "fails"]
    assert subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=False).returncode == 1
    assert forks.count == 0
