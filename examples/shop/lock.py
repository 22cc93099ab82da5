"""One shop to a folder: two would read one response queue, and each would hear half of it."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class FolderTaken(Exception):
    """Another shop is open in the folder."""


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Have the folder, made if it is not there, for this process alone; raises FolderTaken."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "shop.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise FolderTaken(
                f"expected {folder} for itself, found another shop open in it; close that, or choose another --folder"
            ) from None
        yield
