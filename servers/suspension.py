"""Processes that are made to do nothing for a while, as a host that hangs does."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

LOOK_SECONDS = 0.001
LONGEST_SECONDS = 30.0
STOPPED = frozenset("TtZX")
"""The states of a thread that runs no more: stopped, traced, a zombie, dead."""


def suspend(pid: int) -> None:
    """Stop a process until SIGCONT, and wait until none of its threads runs: on a busy machine that takes a while."""
    os.kill(pid, signal.SIGSTOP)
    end = time.perf_counter() + LONGEST_SECONDS
    while not _states(pid) <= STOPPED:
        if time.perf_counter() > end:
            raise RuntimeError(f"process {pid}: expected it to stop within {LONGEST_SECONDS:.0f} s, found it running")
        time.sleep(LOOK_SECONDS)


def _states(pid: int) -> set[str]:
    """The states of its threads."""
    found = set()
    for thread in Path(f"/proc/{pid}/task").glob("*/stat"):
        try:
            # The name, in parentheses, may hold anything.
            found.add(thread.read_text().rpartition(") ")[2][0])
        except OSError:
            continue  # it has ended meanwhile
    return found
