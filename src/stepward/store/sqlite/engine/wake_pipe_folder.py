"""The folder of named pipes beside a store's file: one for each store object that listens, with the store's rights."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path

OWNER_MODE = 0o600
GROUP_MODE = 0o060
SEARCH_MODE = 0o010
TRIES = 10
"""Most names tried for one pipe, and most times that the folder is made again."""
SAFELY = os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
MOST_PIPES = 256
"""Most pipes beside one file: each process that commits holds a file descriptor for each."""
SETTLED_NS = 100_000_000
"""Nanoseconds within which two changes of a folder may bear the same time, as clocks of file systems tick."""
_NUMBERS = count(1)


class TooManyPipes(OSError):
    """As many pipes as there may be have a reader already."""


class WakeFolder:
    """The pipes of one store. A folder that others could fill is left alone, and what is no pipe in it is not touched.

    All is done through descriptors: names may stand for something else a moment later.
    """

    def __init__(self, store: str) -> None:
        # Processes that open the file through a link meet those that do not.
        self._store = Path(os.path.realpath(store))
        self._path = Path(f"{self._store}-wake")
        self._log = Path(f"{self._store}-wal")
        self._names: list[str] = []
        self._listed: tuple[int, int, int] | None = None
        """The folder as it was listed, and when it was changed last; None where it may have other names by now."""

    def make_pipe(self) -> tuple[str, int, int]:
        """A new pipe that this process reads: its name, the end to read, and one to write that keeps it open.

        Removes those of processes that have died. Raises TooManyPipes, or another OSError where there can be none.
        """
        for _ in range(TRIES):
            with suppress(FileNotFoundError, FileExistsError):  # the folder was removed, or the name is used
                self._make()
                with self._opened() as folder:
                    _clean(folder)
                    if len(os.listdir(folder)) >= MOST_PIPES:  # noqa: PTH208  pathlib lists no descriptor
                        raise TooManyPipes(f"{self._path}: expected fewer than {MOST_PIPES} pipes, found as many")
                    return self._new(folder)
        raise FileNotFoundError(self._path)

    def names(self) -> list[str]:
        """The pipes that are there; the folder is listed where it may have changed since."""
        try:
            found = self._path.lstat()
            state = found.st_dev, found.st_ino, found.st_ctime_ns  # changes of its owner and its rights count too
            if state != self._listed:
                is_settled = self._is_settled(found.st_ctime_ns)
                with self._opened() as folder:
                    self._names = os.listdir(folder)  # noqa: PTH208  pathlib lists no descriptor
                self._listed = state if is_settled else None
        except OSError:
            self._listed = None
            return []
        return self._names

    def open_pipe(self, name: str) -> int | None:
        """An end to write, which never blocks; None where no process reads."""
        try:
            with self._opened() as folder:
                pipe = os.open(name, os.O_WRONLY | SAFELY, dir_fd=folder)
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
            with self._opened() as folder:
                os.unlink(name, dir_fd=folder)
            self._path.rmdir()

    def _is_settled(self, changed: int) -> bool:
        """Whether any later change of the folder has a later time: the last write of the log proves how late it is."""
        try:
            return self._log.stat().st_mtime_ns - changed > SETTLED_NS
        except OSError:  # no log yet
            return False

    def _make(self) -> None:
        with suppress(FileExistsError):
            self._path.mkdir(OWNER_MODE | stat.S_IXUSR)
            with self._opened() as folder:
                self._share(folder, OWNER_MODE | stat.S_IXUSR, GROUP_MODE | SEARCH_MODE)

    @contextmanager
    def _opened(self) -> Iterator[int]:
        folder = self._open()
        try:
            yield folder
        finally:
            os.close(folder)

    def _open(self) -> int:
        """The folder. Raises OSError where there is none, or one that others could fill."""
        owners = (0, os.geteuid(), self._store.stat().st_uid)
        folder = os.open(self._path, os.O_RDONLY | os.O_DIRECTORY | SAFELY)
        found = os.fstat(folder)
        is_closed = stat.S_ISDIR(found.st_mode) and not found.st_mode & stat.S_IWOTH
        if is_closed and found.st_uid in owners:
            return folder
        os.close(folder)
        raise PermissionError(f"{self._path}: expected a folder of the store's owner, found another's")

    def _share(self, made: int, owner: int, group: int) -> None:
        """Let the store's owner use what root made beside it, and the store's group, if it may write the store."""
        store = self._store.stat()
        if os.geteuid() == 0:
            os.fchown(made, store.st_uid, store.st_gid)
        if store.st_mode & GROUP_MODE == GROUP_MODE:
            os.fchown(made, -1, store.st_gid)
            os.fchmod(made, owner | group)

    def _new(self, folder: int) -> tuple[str, int, int]:
        name = f"{os.getpid()}-{next(_NUMBERS)}"
        os.mkfifo(name, OWNER_MODE, dir_fd=folder)
        ends: list[int] = []
        try:
            ends += [os.open(name, os.O_RDONLY | SAFELY, dir_fd=folder)]
            ends += [os.open(name, os.O_WRONLY | SAFELY, dir_fd=folder)]
            _check_ours(*map(os.fstat, ends))
            self._share(ends[0], OWNER_MODE, GROUP_MODE)
        except OSError:
            for end in ends:
                os.close(end)
            with suppress(OSError):
                os.unlink(name, dir_fd=folder)
            raise
        return name, ends[0], ends[1]


def _clean(folder: int) -> None:
    """Remove pipes that no process reads: those of processes that were killed."""
    for name in os.listdir(folder):
        if _is_left(folder, name):
            with suppress(OSError):
                os.unlink(name, dir_fd=folder)


def _is_left(folder: int, name: str) -> bool:
    """Whether it is a pipe that no process reads; one that cannot be opened for another reason may be read."""
    try:
        if stat.S_ISFIFO(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            os.close(os.open(name, os.O_WRONLY | SAFELY, dir_fd=folder))
    except OSError as error:
        return error.errno == errno.ENXIO
    return False


def _check_ours(reading: os.stat_result, writing: os.stat_result) -> None:
    """Raises PermissionError where another has put something in the place of the pipe that was made."""
    is_ours = stat.S_ISFIFO(reading.st_mode) and reading.st_uid == os.geteuid()
    if not is_ours or not os.path.samestat(reading, writing):
        raise PermissionError("expected the pipe that this process made, found another's; look who may write there")
