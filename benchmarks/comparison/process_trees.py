"""What a process and all its descendants use: CPU, memory and bytes written, from ``/proc``."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

PROC = Path("/proc")
TICKS = os.sysconf("SC_CLK_TCK")
PARENT, CPU = 1, slice(11, 15)
"""Fields behind the name: the parent, and user and system time of the process and of its children that were reaped."""


class Usage(NamedTuple):
    """The sum over a tree of processes; those that ended count if their parent in the tree has reaped them."""

    cpu_seconds: float = 0.0
    memory_bytes: float = 0.0
    """Pages that several processes share count once in all (proportional set size)."""
    written_bytes: float = 0.0
    """Bytes given to write calls; those sent by calls for sockets alone do not count.

    The kernel's count of bytes that reach the storage layer takes a whole large folio for a page of a log.
    """

    def since(self, before: Usage) -> Usage:
        """CPU and writes since then; the memory of now."""
        return Usage(
            self.cpu_seconds - before.cpu_seconds, self.memory_bytes, self.written_bytes - before.written_bytes
        )


def usage(pid: int | None) -> Usage:
    """The usage of that process and its descendants; nothing for None and for a process that is gone."""
    found = [] if pid is None else [pid, *descendants(pid)]
    return Usage(*(sum(map(of, found)) for of in (_cpu_seconds, _memory_bytes, _written_bytes)))


def descendants(pid: int) -> list[int]:
    """The processes that descend from that one."""
    children = defaultdict(list)
    for folder in PROC.iterdir():
        if folder.name.isdigit() and (stat := _stat(int(folder.name))):
            children[int(stat[PARENT])].append(int(folder.name))
    found, todo = list[int](), [pid]
    while todo:
        below = children[todo.pop()]
        found += below
        todo += below
    return found


def _stat(pid: int) -> list[str]:
    # The name, which may hold spaces, ends with the last parenthesis.
    return _read(pid, "stat").rpartition(")")[2].split()


def _cpu_seconds(pid: int) -> float:
    return sum(map(int, _stat(pid)[CPU])) / TICKS


def _memory_bytes(pid: int) -> float:
    return 1024 * _field(_read(pid, "smaps_rollup").splitlines(), "Pss:")


def _written_bytes(pid: int) -> float:
    return _field(_read(pid, "io").splitlines(), "wchar:")


def _field(lines: Iterable[str], name: str) -> float:
    return next((float(line.split()[1]) for line in lines if line.startswith(name)), 0.0)


def _read(pid: int, file: str) -> str:
    try:
        return (PROC / str(pid) / file).read_text()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return ""
