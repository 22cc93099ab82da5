"""Where tests write: in memory if there is room, because they would wait for the disk most of the time.

No test ends the machine, so what a process has written outlives it there as it does on a disk.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

MEMORY = Path("/dev/shm")
ROOM = 2 * 1024**3
"""Bytes. Tests and their servers use up to 1 GB at once."""


def write_in_memory(memory: Path = MEMORY, room: int = ROOM) -> None:
    """Make temporary files of this process and its children there, unless ``TMPDIR`` says where they go."""
    if "TMPDIR" not in os.environ and _is_fit(memory, room):
        os.environ["TMPDIR"] = str(memory)
        tempfile.tempdir = None  # pytest has asked for it before, and it is remembered.


def _is_fit(folder: Path, room: int) -> bool:
    """Whether programs can be run there, too: servers are copied to where their user may run them."""
    return (
        folder.is_dir()
        and os.access(folder, os.W_OK | os.X_OK)
        and not os.statvfs(folder).f_flag & os.ST_NOEXEC
        and shutil.disk_usage(folder).free >= room
    )
