"""``run --reload``: a process that restarts when a Python file of this folder changes, for development."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from types import FrameType

from stepward.cli.processes.serving import say
from stepward.errors import SettingsError

DRAIN_SECONDS = 2.0
"""Seconds for the calls under way; what is left is repeated by the next process."""
END_SECONDS = 5.0
"""Seconds for the end after that, before the process is killed."""
MOST_NAMED = 3
"""Most changed files that a line names."""


def serve_reloading(target: str, options: Sequence[str]) -> None:
    """Run the application in a child process until a signal; a child that ends by itself is started at the next
    change. Raises SettingsError where the package that watches files is missing."""
    if find_spec("watchfiles") is None:
        raise SettingsError(
            "run --reload: expected the package watchfiles, found none; run: pip install stepward[reload]"
        )
    from watchfiles import PythonFilter, watch  # noqa: PLC0415  an extra's

    signal.signal(signal.SIGTERM, _interrupt)
    folder = Path.cwd()
    command = [sys.executable, "-m", "stepward", "run", target, *options]
    child = subprocess.Popen(command)
    try:
        for changes in watch(folder, watch_filter=PythonFilter()):
            say(f"Changed: {_names(folder, [path for _, path in changes])}. Restarting.")
            _end(child)
            child = subprocess.Popen(command)
    except KeyboardInterrupt:
        say("Ended.")
    finally:
        _end(child)


def _end(child: subprocess.Popen[bytes]) -> None:
    """Drain the child briefly, then end it at once, then kill it."""
    for seconds in (DRAIN_SECONDS, END_SECONDS):
        child.terminate()
        try:
            child.wait(seconds)
        except subprocess.TimeoutExpired:
            continue
        return
    child.kill()
    child.wait()


def _names(folder: Path, paths: list[str]) -> str:
    names = sorted(str(Path(path).relative_to(folder)) for path in paths)
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
