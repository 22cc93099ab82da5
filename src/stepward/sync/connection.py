"""A client that runs in a thread of its own: what the parts of the blocking client share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Self

from stepward.client import Client
from stepward.runtime.loop_thread import LoopThread


class SyncConnection:
    """A client and the thread that its coroutines run in."""

    def __init__(self, make: Callable[[], Client]) -> None:
        self._make = make
        self._client: Client
        self._thread = LoopThread("SyncClient", "with app.sync_client() as client")

    def __enter__(self) -> Self:
        self._client = self._thread.open(self._make)
        return self

    def __exit__(self, *exception: object) -> None:
        self._thread.close()

    @property
    def _open_client(self) -> Client:
        self._thread.check()
        return self._client
