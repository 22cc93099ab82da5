"""The free share of the disks that the leader's host writes to."""

from __future__ import annotations

import shutil
from pathlib import Path

from stepward.settings import Settings

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
