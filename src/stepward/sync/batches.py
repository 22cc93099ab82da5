"""Acts in bulk, for code without an event loop."""

from __future__ import annotations

from typing import Any

from stepward.client import Batches, BatchPreview
from stepward.runtime.loop_thread import LoopThread
from stepward.store.contract import Batch, BatchVerb


class SyncBatches:
    """``Batches`` for code without an event loop; every method has the arguments and the result of its twin."""

    def __init__(self, thread: LoopThread, inner: Batches) -> None:
        self._thread = thread
        self._inner = inner

    def preview(self, verb: BatchVerb | str, where: str, **said: Any) -> BatchPreview:
        """Count the tasks, and what the act would do to the first of them; nothing is changed."""
        return self._thread.call(self._inner.preview(verb, where, **said))

    def start(self, preview: BatchPreview, *, rate: float = 20.0, reason: str | None = None) -> Batch:
        """Have the act of a preview carried out on at most ``rate`` tasks a second."""
        return self._thread.call(self._inner.start(preview, rate=rate, reason=reason))

    def recent(self, limit: int = 100) -> list[Batch]:
        """The batches, newest first."""
        return self._thread.call(self._inner.recent(limit))

    def get(self, id: str) -> Batch:
        """The batch of that id. Raises BatchNotFound."""
        return self._thread.call(self._inner.get(id))

    def pause(self, id: str) -> Batch:
        """Ask no further task until ``resume``."""
        return self._thread.call(self._inner.pause(id))

    def resume(self, id: str) -> Batch:
        """Continue a paused batch."""
        return self._thread.call(self._inner.resume(id))

    def stop(self, id: str) -> Batch:
        """Ask no further task for good."""
        return self._thread.call(self._inner.stop(id))

    def pace(self, id: str, rate: float) -> Batch:
        """Continue with another rate, in tasks a second."""
        return self._thread.call(self._inner.pace(id, rate))
