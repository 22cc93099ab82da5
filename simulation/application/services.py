"""Remote services that misbehave, and the ledger of what they really did: effects by idempotency key.

A call leaves its process at once and takes effect at the service whatever becomes of the process. ``dedupes`` makes a
service answer a known key with what it answered before, and keep a tombstone for what is undone before it was done.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from contextvars import Context
from dataclasses import dataclass, field
from typing import Any

from simulation.environment.faults import Rates
from simulation.environment.loop import SimulationLoop
from simulation.trace import Trace
from stepward.errors import ServiceUnavailable, Unrecoverable

QUICK = (0.0, 0.005, 0.02, 0.25)
SLOW = (0.5, 1.0, 2.0, 4.0, 8.0)


@dataclass(slots=True)
class Account:
    """What a service knows under one key."""

    operation: str
    calls: int = 0
    effects: int = 0
    undone: int = 0
    """Effects that were taken back."""
    tombstone: bool = False
    declined: bool = False
    undo_refused: bool = False
    effect_at: list[float] = field(default_factory=list)

    @property
    def standing(self) -> int:
        """Effects that stand."""
        return self.effects - self.undone


class SimulatedService:
    """One remote service."""

    def __init__(
        self,
        name: str,
        *,
        dedupes: bool,
        loop: SimulationLoop,
        rates: Callable[[], Rates],
        chance: random.Random,
        trace: Trace,
    ) -> None:
        self.name = name
        self.dedupes = dedupes
        self.accounts: dict[str, Account] = {}
        self.is_away = False
        """Whether it answers no request."""
        self._loop = loop
        self._rates = rates
        self._chance = chance
        self._trace = trace

    async def do(self, key: str, operation: str, amount: int) -> dict[str, Any]:
        """Have the effect, if all goes well."""
        answer: dict[str, Any] = await self._called(self._act, key, operation, amount)
        return answer

    async def undo(self, key: str, operation: str) -> None:
        """Take the effect of ``key`` back, or see to it that it never comes."""
        await self._called(self._take_back, key, operation, 0)

    def _called(
        self, effect: Callable[[str, str, int], Any], key: str, operation: str, amount: int
    ) -> asyncio.Future[Any]:
        waiting = self._loop.create_future()
        self._loop.call_later(self._latency(), self._arrive, waiting, effect, key, operation, amount, context=Context())
        return waiting

    def _latency(self) -> float:
        if self._strikes(self._rates().service_slow, "service slow"):
            return self._chance.choice(SLOW)
        return self._chance.choice(QUICK)

    def _arrive(
        self,
        waiting: asyncio.Future[Any],
        effect: Callable[[str, str, int], Any],
        key: str,
        operation: str,
        amount: int,
    ) -> None:
        rates = self._rates()
        if self.is_away:
            self._answer(waiting, ServiceUnavailable("simulated: away", maybe_done=False))
            return
        if self._strikes(rates.service_hangs, "service hangs"):
            return
        if self._strikes(rates.service_error, "service error"):
            self._answer(waiting, ServiceUnavailable("simulated: overloaded", maybe_done=False))
            return
        try:
            result = effect(key, operation, amount)
        except Unrecoverable as error:
            self._answer(waiting, error)
            return
        if self._strikes(rates.answer_lost, "answer lost"):
            return
        if self._strikes(rates.service_error_after, "service error after the effect"):
            self._answer(waiting, ServiceUnavailable("simulated: broke down"))
            return
        self._answer(waiting, result)

    def _act(self, key: str, operation: str, amount: int) -> dict[str, Any]:
        account = self.accounts.setdefault(key, Account(operation))
        account.calls += 1
        if account.calls > 1:
            self._trace.reached("a service was asked again under one key")
        if account.tombstone:
            self._trace.reached("a service refused what was undone before")
            raise Unrecoverable("undone before it was done")
        if account.declined or (account.effects == 0 and self._strikes(self._rates().declined, "declined")):
            account.declined = self.dedupes
            raise Unrecoverable("declined", code=amount)
        if not self.dedupes or account.effects == 0:
            account.effects += 1
            account.effect_at.append(self._loop.instant())
            self._trace.note("effect", key)
        if account.effects > 1:
            self._trace.reached("a service without deduplication had two effects")
        if account.calls == 1 and self._strikes(self._rates().declined_after, "declined after the effect"):
            raise Unrecoverable("something broke", maybe_done=True)
        return {"amount": amount}

    def _take_back(self, key: str, operation: str, _: int) -> None:
        account = self.accounts.setdefault(key, Account(operation))
        if account.undo_refused or self._strikes(self._rates().undo_refused, "undo refused"):
            account.undo_refused = True
            raise Unrecoverable("cannot be taken back")
        if account.effects == 0:
            self._trace.reached("undone before it was done")
        self._trace.note("effect undone", key)
        account.undone = account.effects
        account.tombstone = self.dedupes

    def _answer(self, waiting: asyncio.Future[Any], result: Any) -> None:
        delay = self._latency()
        self._loop.call_later(delay, _settle, waiting, result, context=Context())

    def _strikes(self, rate: float, kind: str) -> bool:
        if rate and self._chance.random() < rate:
            self._trace.fault(kind, self.name)
            return True
        return False


def _settle(waiting: asyncio.Future[Any], result: Any) -> None:
    if waiting.done():
        return
    if isinstance(result, Exception):
        waiting.set_exception(result)
    else:
        waiting.set_result(result)
