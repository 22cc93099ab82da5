"""One blocking client for each process of a web server that forks its workers."""

from __future__ import annotations

import atexit
import os
import threading

from stepward.app import App
from stepward.sync import SyncClient


class ProcessClient:
    """Opens a client at the first use in each process, and closes it when the process ends."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._opening = threading.Lock()
        self._opened: tuple[int, SyncClient] | None = None
        # A lock that another thread holds while the process forks would never be free in the child.
        os.register_at_fork(after_in_child=self._forget)

    def get(self) -> SyncClient:
        """The open client. Raises StoreUnavailable or StoreUnusable."""
        with self._opening:
            if self._opened is None:
                client = self._app.sync_client()
                client.__enter__()
                self._opened = (os.getpid(), client)
                atexit.register(self.close)
            return self._opened[1]

    def close(self) -> None:
        """Close the client, if this process has opened one."""
        opened, self._opened = self._opened, None
        if opened is not None and opened[0] == os.getpid():
            opened[1].__exit__(None, None, None)

    def _forget(self) -> None:
        self._opening = threading.Lock()
        self._opened = None
