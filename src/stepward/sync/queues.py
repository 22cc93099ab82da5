"""An application's queues, for code without an event loop."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stepward.client import (
    Queues,
    StatusEvent,
)
from stepward.client.queues.events import StatusEvents
from stepward.client.submitting.submission_checks import Id
from stepward.encryption import Encryption
from stepward.large_payloads import LargePayloads
from stepward.payload import PAYLOAD_BYTES
from stepward.runtime.loop_thread import LoopThread


class SyncQueues:
    """``Queues`` for code without an event loop; use it as ``with SyncQueues(address, app=name) as queues``.

    It may be shared by threads: a web server opens it once.
    """

    def __init__(
        self,
        address: str | Sequence[str],
        *,
        app: str,
        store_id: str | None = None,
        payload_bytes: int = PAYLOAD_BYTES,
        encryption: Encryption | None = None,
        large_payloads: LargePayloads | None = None,
    ) -> None:
        self._queues = Queues(
            address,
            app=app,
            store_id=store_id,
            payload_bytes=payload_bytes,
            encryption=encryption,
            large_payloads=large_payloads,
        )
        self._thread = LoopThread("SyncQueues", "with SyncQueues(…) as queues")

    def __enter__(self) -> SyncQueues:
        self._thread.open(lambda: self._queues)
        return self

    def __exit__(self, *exception: object) -> None:
        self._thread.close()

    def post(self, queue: str, data: Any, *, id: Id | None = None, reply_to: str | None = None) -> str:
        """Post a message; an application makes a task of it."""
        return self._thread.call(self._queues.post(queue, data, id=id, reply_to=reply_to))

    def events(self, queue: str) -> SyncEvents:
        """Status events of the response queue ``queue``, in order per task, from where its reader stopped."""
        self._thread.check()
        return SyncEvents(self._thread, self._queues.events(queue))


class SyncEvents:
    """``StatusEvents`` as an iterator that blocks until the next event is there."""

    def __init__(self, thread: LoopThread, inner: StatusEvents) -> None:
        self._thread = thread
        self._inner = inner

    def __iter__(self) -> SyncEvents:
        return self

    def __next__(self) -> StatusEvent:
        return self._thread.call(self._inner.__anext__())
