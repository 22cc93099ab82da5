"""An open transaction, for code without an event loop."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stepward.runtime.loop_thread import LoopThread
from stepward.store.contract import Transaction


class SyncTransaction:
    """An open transaction in which application rows and tasks commit together."""

    def __init__(self, thread: LoopThread, inner: Transaction) -> None:
        self._thread = thread
        self._inner = inner

    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Run one statement and return its rows."""
        return self._thread.call(self._inner.execute(sql, parameters))


def is_borrowed(transaction: object) -> bool:
    """Whether it is an application's own transaction."""
    return transaction is not None and not isinstance(transaction, SyncTransaction)


def inner_of(transaction: object) -> Transaction | None:
    """The store's transaction that a blocking one drives; None for another, or for none."""
    return transaction._inner if isinstance(transaction, SyncTransaction) else None
