"""The file of a store: made for its owner alone, and refused where others could replace or write it."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from stepward.errors import StoreUnavailable, StoreUnusable
from stepward.store.sqlite.engine.connection import is_memory

FILE_MODE = 0o600


def prepare_file(path: str) -> None:
    """Make an empty file that only its owner may read, unless there is one; raises StoreUnavailable."""
    if is_memory(path):
        return
    folder = Path(path).absolute().parent
    if not folder.is_dir():
        raise StoreUnavailable(f"store {path}: expected the folder {folder}, found none; create it")
    try:
        _check_rights(path, folder, os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK, FILE_MODE))
    except OSError as error:
        raise StoreUnavailable(
            f"store {path}: expected a file that may be written, found: {error.strerror}; look at its path"
        ) from None
    if not os.access(folder, os.W_OK, effective_ids=True):
        raise StoreUnavailable(
            f"store {path}: expected a folder that may be written, found {folder} read-only; allow writing"
        )


def _check_rights(path: str, folder: Path, file: int) -> None:
    """Refuse what others could replace or write into. Closes ``file``."""
    try:
        found = os.fstat(file)
    finally:
        os.close(file)
    if not stat.S_ISREG(found.st_mode):
        raise StoreUnusable(f"store {path}: expected a plain file, found a pipe or a device; name another file")
    if found.st_mode & stat.S_IWOTH:
        raise StoreUnusable(
            f"store {path}: expected a file that only its owner and group may write, found one that all users may; "
            "run chmod o-w on it"
        )
    around = folder.stat()
    is_sticky = bool(around.st_mode & stat.S_ISVTX)
    if around.st_mode & stat.S_IWOTH and not (is_sticky and found.st_uid in (os.geteuid(), 0)):
        raise StoreUnusable(
            f"store {path}: expected a folder in which only its owner and group may write, found {folder}, where "
            "all users may; run chmod o-w on it, or put the store elsewhere"
        )
