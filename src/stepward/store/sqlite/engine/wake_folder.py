"""The folder of named pipes beside a store's file: one for each store object that listens, with the store's rights."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from itertools import count
from pathlib import Path

OWNER_MODE = 0o600
GROUP_MODE = 0o060
SEARCH_MODE = 0o010
TRIES = 10
"""Most names tried for one pipe, and most times that the folder is made again."""
_NUMBERS = count(1)


class WakeFolder:
    """The pipes of one store. A folder that others could fill is left alone, and what is no pipe in it is not used."""

    def __init__(self, store: str) -> None:
        self._store = Path(store)
        self._path = Path(f"{store}-wake")

    def make_pipe(self) -> tuple[str, int, int]:
        """A new pipe that this process reads: its name, the end to read, and one to write that keeps it open.

        Removes those of processes that have died. Raises OSError where there can be none.
        """
        for _ in range(TRIES):
            with suppress(FileNotFoundError, FileExistsError):  # the folder was removed, or the name is used
                self._make()
                self._clean()
                return self._new()
        raise FileNotFoundError(self._path)

    def names(self) -> list[str]:
        """The pipes that are there."""
        try:
            return [path.name for path in self._path.iterdir()] if self._is_trusted() else []
        except OSError:
            return []

    def open_pipe(self, name: str) -> int | None:
        """An end to write, which never blocks; None where no process reads."""
        try:
            pipe = os.open(self._path / name, os.O_WRONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            return None
        if stat.S_ISFIFO(os.fstat(pipe).st_mode):
            return pipe
        os.close(pipe)
        return None

    def is_there(self, name: str, pipe: int) -> bool:
        """Whether that name still is that pipe."""
        try:
            return os.path.samestat((self._path / name).lstat(), os.fstat(pipe))
        except OSError:
            return False

    def remove(self, name: str) -> None:
        """Remove a pipe, and the folder with the last one."""
        with suppress(OSError):
            (self._path / name).unlink()
            self._path.rmdir()

    def _make(self) -> None:
        with suppress(FileExistsError):
            self._path.mkdir(OWNER_MODE | stat.S_IXUSR)
            self._share(self._path, OWNER_MODE | stat.S_IXUSR, GROUP_MODE | SEARCH_MODE)
        if not self._is_trusted():
            raise PermissionError(f"{self._path}: expected a folder of the store's owner, found another's")

    def _is_trusted(self) -> bool:
        found = self._path.lstat()
        is_closed = stat.S_ISDIR(found.st_mode) and not found.st_mode & stat.S_IWOTH
        return is_closed and found.st_uid in (0, os.geteuid(), self._store.stat().st_uid)

    def _share(self, path: Path, owner: int, group: int) -> None:
        """Let the store's group use what is beside the store, if it may write the store."""
        store = self._store.stat()
        if store.st_mode & GROUP_MODE == GROUP_MODE:
            os.chown(path, -1, store.st_gid)
            path.chmod(owner | group)

    def _clean(self) -> None:
        """Remove pipes that no process reads: those of processes that were killed."""
        for name in self.names():
            pipe = self.open_pipe(name)
            if pipe is not None:
                os.close(pipe)
            else:
                with suppress(OSError):
                    (self._path / name).unlink()

    def _new(self) -> tuple[str, int, int]:
        name = f"{os.getpid()}-{next(_NUMBERS)}"
        path = self._path / name
        os.mkfifo(path, OWNER_MODE)
        try:
            self._share(path, OWNER_MODE, GROUP_MODE)
            return name, *_opened(path)
        except OSError:
            self.remove(name)
            raise


def _opened(path: Path) -> tuple[int, int]:
    reading = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        return reading, os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        os.close(reading)
        raise
