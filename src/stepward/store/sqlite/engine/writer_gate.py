"""The gate before a file that several processes write: one that has waited for long goes first.

SQLite sends a connection that waits no signal, and a busy process may begin its next transaction before another looks
again. Each writer looks whether the gate is open before it begins; one that has waited for a while closes it until
its own transaction has ended. The gate is ``flock`` on the write-ahead log, which SQLite itself does not lock: it has
the rights of the store, and the system opens it when a process dies.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress


class WriterGate:
    """The gate of one file as one store object sees it."""

    def __init__(self, path: str) -> None:
        self._log = f"{path}-wal"
        self._file: int | None = None

    def is_open(self) -> bool:
        """Whether no other store object has closed it."""
        try:
            gate = self._opened() if self._file is None else self._file
            fcntl.flock(gate, fcntl.LOCK_EX | fcntl.LOCK_NB)
            fcntl.flock(gate, fcntl.LOCK_UN)
        except BlockingIOError:
            return False
        except OSError:  # no log yet, or no locks on this file system
            return True
        return True

    def close(self) -> bool:
        """Hold the others back until ``open``; False if another does."""
        try:
            fcntl.flock(self._opened(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:
            return True
        return True

    def open(self) -> None:
        """Hold back no other any more."""
        if self._file is not None:
            with suppress(OSError):
                fcntl.flock(self._file, fcntl.LOCK_UN)

    def forget(self) -> None:
        """Let go of the file."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _opened(self) -> int:
        if self._file is None:
            # It is the same file as long as a connection of this object is open.
            self._file = os.open(self._log, os.O_RDONLY | os.O_CLOEXEC)
        return self._file
