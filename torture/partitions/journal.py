"""A journal of what was done to the application and when, for a run that breaks: a file beside the processes' logs."""

from __future__ import annotations

import time
from pathlib import Path

MOST_LINES = 40
MOST_OF_A_LOG = 5
"""Lines that are shown of the end of each process's log."""
WIDTH = 240


class Journal:
    """A line for each fault and each command, with the seconds since the run began."""

    def __init__(self, logs: Path) -> None:
        self._file = logs / "faults.log"
        self._began = time.perf_counter()

    def note(self, line: str) -> None:
        """Write a line at once: a run that is cut off has it, too."""
        with self._file.open("a") as file:
            file.write(f"{time.perf_counter() - self._began:6.1f} s  {line}\n")


def ends_of_logs(logs: Path) -> str:
    """The ends of all logs of a run."""
    parts = []
    for log in sorted(logs.glob("*.log")):
        lines = log.read_text(errors="replace").splitlines()
        most = MOST_LINES if log.name == "faults.log" else MOST_OF_A_LOG
        parts += [f"{log.name}, the last of {len(lines)} lines:", *(f"  {line[:WIDTH]}" for line in lines[-most:])]
    return "\n".join(parts)
