"""The command line as processes of their own."""

from __future__ import annotations

import contextlib
import fcntl
import os
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner

from stepward.cli.main import cli

PATIENCE = 120.0
LOOK_SECONDS = 0.02
"""Between two looks: looking without a pause takes a core from what is waited for."""


class Process:
    """A command that runs on; its stdout is read line by line."""

    def __init__(self, folder: Path, *args: str, **env: str) -> None:
        self.errors = folder / f"errors-{len(list(folder.glob('errors-*')))}"
        with self.errors.open("wb") as errors:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "stepward", *args],
                cwd=folder,
                env=_environment(env),
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )

    @property
    def pid(self) -> int:
        """By which it is known."""
        return self._process.pid

    def read_until(self, start: str) -> list[str]:
        """The lines up to the one that begins so; fails where the output ends first."""
        assert self._process.stdout is not None
        lines = []
        for line in self._process.stdout:
            lines.append(line.rstrip("\n"))
            if line.startswith(start):
                return lines
        raise AssertionError(f"expected {start!r}, found {lines}\n{self.errors.read_text()}")

    def says(self, words: str) -> None:
        """Wait until it has written them to stderr; fails where it ends first."""
        for _ in looks():
            has_ended = self._process.poll() is not None
            if words in self.errors.read_text():
                return
            if has_ended:
                break
        raise AssertionError(f"expected {words!r}, found {self.errors.read_text()}")

    def tell(self, number: int) -> None:
        """Send a signal."""
        self._process.send_signal(number)

    def ended(self) -> int:
        """Wait for the end; the exit code."""
        return self._process.wait(PATIENCE)

    def close(self) -> None:
        """End it, if it still runs."""
        self._process.kill()
        self._process.wait(PATIENCE)
        if self._process.stdout is not None:
            self._process.stdout.close()


def looks() -> Iterator[None]:
    """Turns to look whether something has come about, until there is no patience left."""
    end = time.perf_counter() + PATIENCE
    while time.perf_counter() < end:
        yield
        time.sleep(LOOK_SECONDS)


@contextmanager
def running(folder: Path, *args: str, **env: str) -> Iterator[Process]:
    """A command that has reported ready."""
    process = Process(folder, *args, **env)
    try:
        process.read_until("Ready")
        yield process
    finally:
        process.close()


def done(folder: Path, *args: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    return subprocess.run(
        [sys.executable, "-m", "stepward", *args],
        cwd=folder,
        env=_environment(env),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


def asked(folder: Path, *args: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run a command to its end in this process, where it is not the process that is looked at."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(sys, "path", list(sys.path))
        for name in _settings():
            patch.delenv(name, raising=False)
        result = CliRunner().invoke(cli, args, env=env)
    return subprocess.CompletedProcess(args, result.exit_code, result.stdout, result.stderr)


def on_terminal(folder: Path, columns: int, *args: str) -> str:
    """What a command writes to a terminal of that width."""
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    subprocess.run(
        [sys.executable, "-m", "stepward", *args],
        cwd=folder,
        env=_environment({"TERM": "xterm-256color"}),
        stdout=theirs,
        timeout=PATIENCE,
        check=True,
    )
    os.close(theirs)
    written = b""
    with contextlib.suppress(OSError), os.fdopen(ours, "rb", buffering=0) as terminal:
        while piece := terminal.read(65536):
            written += piece
    return written.decode()


def _environment(more: dict[str, str]) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in _settings()}
    return kept | {"PYTHONUNBUFFERED": "1"} | more


def _settings() -> set[str]:
    """Variables of the tests' own process that would change what a command does."""
    return {name for name in os.environ if name.startswith("STEPWARD_")} | {"COLUMNS", "NO_COLOR"}
