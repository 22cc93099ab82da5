"""An engine as verbs see it: its transactions, its clock, and how others hear of a change."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import NamedTuple, Protocol

from stepward.store.contract import Transaction
from stepward.store.search.dialect import SearchDialect
from stepward.store.verbs.connection import VerbClock, VerbTransactions


class ChangeSource(Protocol):
    """Hears of changes that other processes of the store made."""

    def changed(self) -> bool:
        """As ``HostStore.changed``."""
        ...

    async def stirred(self, every: float) -> None:
        """As ``HostStore.stirred``."""
        ...


class VerbEngine(NamedTuple):
    """What the verbs of one store object run on."""

    turns: VerbTransactions
    """For the Scheduler's verbs."""
    leases: VerbTransactions
    """For renewing leases, which waits for nothing else where an engine can do several things at once."""
    others: VerbTransactions
    """For all other verbs."""
    clock: VerbClock
    ring: Callable[[], None]
    """Tells the other processes of the store that something was changed."""
    changes: ChangeSource
    break_off: Callable[[], bool]
    """As ``HostStore.break_off``."""
    open_transaction: Callable[[], AbstractAsyncContextManager[Transaction]]
    """Opens a transaction that stays open across awaits, for applications; leaving it commits."""
    dialect: SearchDialect


class VerbPart:
    """A part of one store object, which runs its verbs on an engine."""

    def __init__(self, engine: VerbEngine) -> None:
        self._transactions = engine.others
        self._clock = engine.clock
        self._ring = engine.ring
        self._open_transaction = engine.open_transaction
        self._dialect = engine.dialect
        self.now = engine.clock.now
        self.jumped = engine.clock.jumped

    def transaction(self) -> AbstractAsyncContextManager[Transaction]:
        return self._open_transaction()
