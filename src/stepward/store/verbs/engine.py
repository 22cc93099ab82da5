"""An engine as verbs see it: its transactions, its clock, and its change notifications."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import NamedTuple, Protocol

from stepward.model.messages.change_kinds import EVERYTHING, Kinds
from stepward.store.contract import Transaction
from stepward.store.search.dialect import SearchDialect
from stepward.store.verbs.connection import VerbClock, VerbTransactions


class ChangeSource(Protocol):
    """Receives notifications of changes by other processes of the store."""

    def changed(self) -> Kinds:
        """As ``HostStore.changed``."""
        ...

    async def stirred(self, every: float) -> None:
        """As ``HostStore.stirred``."""
        ...


class Ring(Protocol):
    """Notifies the other processes of the store of a change."""

    def __call__(self, kinds: Kinds = EVERYTHING) -> None:
        """``kinds``: what the change is about, where the verb knows it."""
        ...


class VerbEngine(NamedTuple):
    """The engine of one store object."""

    turns: VerbTransactions
    """Transactions of the Scheduler's verbs."""
    leases: VerbTransactions
    """Transactions that renew leases, which wait for no others where an engine runs several at once."""
    others: VerbTransactions
    """Transactions of all other verbs."""
    clock: VerbClock
    ring: Ring
    changes: ChangeSource
    break_off: Callable[[], bool]
    """As ``HostStore.break_off``."""
    open_transaction: Callable[[], AbstractAsyncContextManager[Transaction]]
    """Opens a transaction for applications that stays open across awaits; leaving it commits."""
    dialect: SearchDialect


class VerbPart:
    """A part of one store object, whose verbs run on an engine."""

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
