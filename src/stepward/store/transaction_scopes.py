"""Scopes of open transactions: an object of one that has ended is refused, and so is one opened within another."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from stepward.errors import Refused

OVER = (
    "transaction: expected use within its block, found it ended; open another, and await within the block what uses it"
)
NESTED = "transaction: expected no other one of this store open here, found one; use that one, or end it first"


class Scope:
    """The block in which one transaction may be used."""

    def __init__(self, store: object) -> None:
        self.store = store
        self.task = asyncio.current_task()
        self.is_open = True

    def check(self) -> None:
        """Raises Refused once the block has ended."""
        if not self.is_open:
            raise Refused(OVER)


_OPEN: ContextVar[tuple[Scope, ...]] = ContextVar("stepward_open_transactions", default=())


def refuse_nested(store: object) -> None:
    """Raises Refused where this task has a transaction of that store open: the inner one could wait for the outer."""
    if any(scope.task is asyncio.current_task() for scope in _around(store)):
        raise Refused(NESTED)


def is_within(store: object) -> bool:
    """Whether a transaction of that store is open around here, perhaps in a task that waits for this one."""
    return bool(_around(store))


@contextmanager
def entered(store: object) -> Iterator[Scope]:
    """The scope of a transaction of that store, until the block ends."""
    scope = Scope(store)
    # Never reset: the block may be left in another context than it was entered in.
    _OPEN.set((*(each for each in _OPEN.get() if each.is_open), scope))
    try:
        yield scope
    finally:
        scope.is_open = False


def _around(store: object) -> list[Scope]:
    return [scope for scope in _OPEN.get() if scope.is_open and scope.store is store]
