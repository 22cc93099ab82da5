"""The CPU that processes have used, from ``/proc``."""

from __future__ import annotations

import os
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")
# Behind the name, which ends with the last parenthesis.
PARENT, OWN, REAPED = 1, slice(11, 13), slice(13, 15)


def own_seconds(pid: int) -> float:
    """What a process has used itself, on all its threads."""
    return _ticks(_stat(Path(f"/proc/{pid}"))[OWN])


def family_seconds(pid: int) -> float:
    """What a process, its living children and those that it has seen end have used."""
    stat = _stat(Path(f"/proc/{pid}"))
    return _ticks([*stat[OWN], *stat[REAPED]]) + sum(_ticks(child[OWN]) for child in _children(pid))


def _children(pid: int) -> list[list[str]]:
    stats = [_stat(folder) for folder in Path("/proc").iterdir() if folder.name.isdigit()]
    return [stat for stat in stats if stat and stat[PARENT] == str(pid)]


def _stat(folder: Path) -> list[str]:
    try:
        return (folder / "stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return []


def _ticks(fields: list[str]) -> float:
    return sum(map(int, fields)) / TICKS
