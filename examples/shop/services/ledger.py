"""The deduplicating ledger: one effect per idempotency key, and the same answer each time it is asked for."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from datetime import datetime

import msgspec

from examples.shop.services.call import ServiceCall
from examples.shop.services.database import transaction
from examples.shop.services.problem import Problem
from examples.shop.services.service import Service, ServiceDetails
from servers.ledger import Effect, EffectLedger


@dataclass(frozen=True, slots=True)
class LedgerAnswer:
    """What a call was answered, now or the first time."""

    status: int
    body: bytes


class Ledger:
    """What one service did. Each public method is one transaction."""

    def __init__(self, connection: sqlite3.Connection, service: Service) -> None:
        self._connection = connection
        self._ledger = EffectLedger(connection)
        self._service = service

    def perform(self, call: ServiceCall, now: datetime) -> LedgerAnswer:
        """Do or undo what the call asks for, or repeat the answer that its key has had."""
        with transaction(self._connection):
            answer = self._recorded(call)
            if answer is None:
                answer = self._act(call, now)
                self._record(call, answer)
            return answer

    def deliver(self, call: ServiceCall, now: datetime) -> None:
        """Count an arrival of the call's key."""
        with transaction(self._connection):
            self._ledger.deliver(call.key, now.isoformat())

    def effects(self) -> list[Effect]:
        """Every effect, oldest first."""
        return self._ledger.effects()

    def deliveries(self) -> dict[str, int]:
        """How often each key has arrived."""
        return self._ledger.deliveries()

    def _recorded(self, call: ServiceCall) -> LedgerAnswer | None:
        row = self._connection.execute("SELECT * FROM answer WHERE key = ?", (call.key,)).fetchone()
        if row is None:
            return None
        if row["fingerprint"] != call.fingerprint():
            raise Problem(422, "key used before", "this Idempotency-Key came with another request before")
        return LedgerAnswer(row["status"], row["body"])

    def _act(self, call: ServiceCall, now: datetime) -> LedgerAnswer:
        # A refusal is recorded too: no late duplicate may succeed after its caller got a failure.
        try:
            document = self._do(call, now) if call.undoes is None else self._undo(call, call.undoes, now)
        except Problem as refusal:
            return LedgerAnswer(refusal.status, refusal.body())
        return LedgerAnswer(200, msgspec.json.encode(document))

    def _record(self, call: ServiceCall, answer: LedgerAnswer) -> None:
        self._connection.execute(
            "INSERT INTO answer (key, fingerprint, status, body) VALUES (?, ?, ?, ?)",
            (call.key, call.fingerprint(), answer.status, answer.body),
        )

    def _do(self, call: ServiceCall, now: datetime) -> dict[str, str]:
        if self._ledger.refuses(call.key, now.isoformat()):
            raise Problem(410, "undone before it was done", f"{call.action} was undone before it arrived")
        self._service.take(self._connection, call.details)
        number = self._enter(call, call.details, now)
        return {self._service.reference: f"{self._service.name}-{number:06}"}

    def _undo(self, call: ServiceCall, undoes: str, now: datetime) -> dict[str, bool]:
        effect = self._ledger.effect(undoes)
        if effect is None:
            self._ledger.bury(undoes, now.isoformat(), call.key)
            return {"undone": False}
        if effect.undoes is not None or effect.order_id != call.order_id:
            raise Problem(409, "not to be undone", "Stepward-Undoes names no effect of this order")
        if not self._ledger.is_taken_back(undoes):
            self._service.give_back(self._connection, effect.details)
            self._enter(call, effect.details, now)
        return {"undone": True}

    def _enter(self, call: ServiceCall, details: ServiceDetails, now: datetime) -> int:
        return self._ledger.enter(call.key, call.action, call.order_id, details, at=now.isoformat(), undoes=call.undoes)
