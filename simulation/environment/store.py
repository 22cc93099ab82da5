"""The real store, with faults around its verbs: out of reach, slow, or silent about a commit that took place."""

from __future__ import annotations

import asyncio
import inspect
import random
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from simulation.environment.faults import Rates
from simulation.invariants.history import VERB, Act
from simulation.trace import Trace
from stepward.errors import CommitUnknown, StoreUnavailable
from stepward.store.contract import Finish, Least
from stepward.store.sqlite import SqliteStore

READS = frozenset(
    {
        *("load", "read_inbox", "next_wake", "next_start"),
        *("due", "expired_steps", "expired_tasks", "undelivered_alerts"),
        *("alert_receipts", "alert_silences", "early_warnings", "late_leases", "is_drained"),
        *("outlived", "outlived_tasks", "outlived_steps", "outlived_inbox", "outlived_signals", "outlived_values"),
        *("outlived_streams", "outlived_updates", "unchanged", "live_value", "live_values", "stream_values", "streams"),
        *("old_records", "acts"),
        *("task", "tasks", "steps", "ended", "workflow", "workflows", "instances", "standings", "alerts", "audits"),
    }
)
HASTY = frozenset({"decide", "free", "expire_tasks", "commit"})
"""What acts on something read before, or works on meanwhile: before it is done a lot should happen."""
ACTING = frozenset({"commit", "claim"})
DELAYS = (0.001, 0.01, 0.1, 0.5, 2.0)


class CommitGate:
    """Whether the store answers a process, and how fast."""

    def __init__(self, rates: Callable[[], Rates], chance: random.Random, trace: Trace) -> None:
        self._rates = rates
        self._chance = chance
        self.trace = trace
        self.away = False
        """During an outage nothing gets through."""

    async def enter(self, verb: str) -> None:
        """Wait, or refuse, before the verb."""
        rates = self._rates()
        if rates.store_slow and self._chance.random() < rates.store_slow * (1 + 2 * (verb in HASTY)):
            await self._wait()
        if self.away or (rates.store_unavailable and self._chance.random() < rates.store_unavailable):
            self.trace.fault("store unavailable", verb)
            raise StoreUnavailable(f"simulated: {verb} did not reach the store")

    async def leave(self, verb: str) -> None:
        """Wait after the verb, or raise that its outcome is unknown."""
        rates = self._rates()
        if verb not in READS and rates.store_unknown and self._chance.random() < rates.store_unknown:
            self.trace.fault("commit unknown", verb)
            raise CommitUnknown(f"simulated: the answer to {verb} was lost")
        if rates.store_slow and self._chance.random() < rates.store_slow:
            await self._wait()

    async def _wait(self) -> None:
        delay = self._chance.choice(DELAYS[: 1 + int(self._chance.random() * len(DELAYS))])
        self.trace.fault("store slow")
        await asyncio.sleep(delay)


class FaultyStore:
    """Stands where the store stands: every verb of its parts that is a coroutine passes the gate."""

    def __init__(self, store: SqliteStore, gate: CommitGate) -> None:
        self.now = store.now
        self.open = store.open
        self.close = store.close
        self.supervisor: Any = FaultyPart(store.supervisor, gate)
        self.client: Any = FaultyPart(store.client, gate)
        self.operators: Any = FaultyPart(store.operators, gate)
        self.host: Any = FaultyPart(store.host, gate)
        self.messages: Any = FaultyPart(store.messages, gate)
        self.scheduler: Any = FaultyPart(store.scheduler, gate, self.messages)


class FaultyPart:
    """A part of the store behind the gate."""

    def __init__(self, target: Any, gate: CommitGate, beside: Any = None) -> None:
        self._target = target
        self._gate = gate
        self.beside = beside
        """The queues, for a bug that reaches for what its actor is not handed."""

    def __getattr__(self, verb: str) -> Any:
        real = getattr(self._target, verb)
        if not inspect.iscoroutinefunction(real) or verb == "stirred":
            return real
        return _verb(self, self._target, self._gate, verb)

    def transaction(self) -> AbstractAsyncContextManager[Any]:
        return self._transaction()

    @asynccontextmanager
    async def _transaction(self) -> AsyncIterator[FaultyTransaction]:
        await self._gate.enter("transaction")
        before = VERB.set(Act("transaction", None))
        try:
            async with self._target.transaction() as transaction:
                yield FaultyTransaction(transaction, self._gate)
        finally:
            VERB.reset(before)
        await self._gate.leave("transaction")


class FaultyTransaction:
    """An open transaction whose statements may take their time."""

    def __init__(self, transaction: Any, gate: CommitGate) -> None:
        self._transaction = transaction
        self._gate = gate

    async def execute(self, sql: str, parameters: Any = ()) -> Any:
        await self._gate.enter("execute")
        return await self._transaction.execute(sql, parameters)

    async def submit(self, tasks: Any, plans: Any) -> Any:
        await self._gate.enter("submit")
        return await self._transaction.submit(tasks, plans)

    async def known(self, ids: Any) -> Any:
        await self._gate.enter("known")
        return await self._transaction.known(ids)

    def savepoint(self) -> AbstractAsyncContextManager[None]:
        savepoint: AbstractAsyncContextManager[None] = self._transaction.savepoint()
        return savepoint

    async def finish(self, instance: str, finish: Finish, written: bytes | None = None) -> bool:
        await self._gate.enter("finish")
        VERB.set(Act("transaction", instance))
        done: bool = await self._transaction.finish(instance, finish, written)
        return done


def _told(verb: str, args: tuple[Any, ...]) -> Act:
    if verb not in ACTING:
        return Act(verb, None)
    least = next((given for given in args if isinstance(given, Least)), None)
    return Act(verb, args[0]) if least is None else Act(verb, args[0], least.but)


def _verb(holder: Any, target: Any, gate: CommitGate, verb: str) -> Any:
    real = getattr(target, verb)

    async def call(*args: Any, **kwargs: Any) -> Any:
        await gate.enter(verb)
        before = VERB.get()
        VERB.set(_told(verb, args))
        try:
            result = await real(*args, **kwargs)
        finally:
            # No token: what is cut off as its world ends is closed in another context.
            VERB.set(before)
        if verb == "decide" and result < len(args[1]):
            gate.trace.reached("a decision came too late")
        await gate.leave(verb)
        return result

    setattr(holder, verb, call)
    return call
