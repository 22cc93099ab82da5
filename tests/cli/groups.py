"""Groups of processes as tests see them: what the parent says, and which children there are."""

from __future__ import annotations

import os
import re
import select
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .processes import PATIENCE, Process

AT_WORK = re.compile(r"process (\d+) \(pid (\d+)\) is at work\.")


class Group:
    """A group at work."""

    def __init__(self, process: Process, lines: list[str]) -> None:
        self.process = process
        self.pids: dict[int, int] = {}
        self._learn(lines)

    def heir(self, number: int) -> str:
        """Wait until another process is at work in that place; what was printed about the one before."""
        lines = self.process.read_until("process")
        while not (match := AT_WORK.fullmatch(lines[-1])) or int(match[1]) != number:
            lines += self.process.read_until("process")
        self._learn(lines)
        return next(line for line in lines if line.startswith(f"process {number} "))

    def _learn(self, lines: list[str]) -> None:
        self.pids |= {int(match[1]): int(match[2]) for line in lines if (match := AT_WORK.fullmatch(line))}


@contextmanager
def grouped(folder: Path, target: str, count: int, **env: str) -> Iterator[Group]:
    """A group that has reported ready."""
    process = Process(folder, "run", target, "--processes", str(count), **env)
    try:
        yield Group(process, process.read_until("Ready"))
    finally:
        process.close()


@contextmanager
def watched(pids: list[int]) -> Iterator[list[int]]:
    """Descriptors of processes, each of which can be read once its process is over."""
    descriptors = [os.pidfd_open(pid) for pid in pids]
    try:
        yield descriptors
    finally:
        for descriptor in descriptors:
            os.close(descriptor)


def are_over(descriptors: list[int]) -> bool:
    """Wait for the end of all of them, with a bound."""
    return all(select.select([each], [], [], PATIENCE)[0] for each in descriptors)
