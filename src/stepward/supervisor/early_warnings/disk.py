"""Warns of disks with little room that the leader's host writes to."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path

from stepward.model.records import Alert
from stepward.settings import Settings
from stepward.supervisor.early_warnings.warning import warning

SQLITE = "sqlite:///"


def folders_of(settings: Settings) -> list[Path]:
    """The folders of the SQLite store and of the archive, if there are such."""
    found = []
    if settings.store.startswith(SQLITE):
        found.append(Path(settings.store.removeprefix(SQLITE).partition("?")[0]).parent)
    if settings.archive is not None:
        found.append(Path(settings.archive))
    return found


def free_share(folder: Path) -> float | None:
    """The free share of the folder's disk, from 0 to 1; None if it cannot be read."""
    try:
        usage = shutil.disk_usage(folder)
    except OSError:
        return None
    return usage.free / usage.total if usage.total else None


def low_disks(folders: Iterable[tuple[Path, float]], least: float) -> list[Alert]:
    """One alert for each folder."""
    return [
        warning(
            "disk_low",
            f"disk of {folder}: expected {least:.1%} free, found {free:.1%}; make room before writing fails",
            folder=str(folder),
        )
        for folder, free in folders
    ]
