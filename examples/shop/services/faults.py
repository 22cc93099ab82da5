"""Faults that can be set on a service, kept in its file so that they outlive its process."""

from __future__ import annotations

import math
import sqlite3
from enum import StrEnum
from typing import Annotated

import msgspec

from examples.shop.services.call import ServiceCall
from examples.shop.services.database import transaction
from examples.shop.services.problem import Problem
from examples.shop.services.service import PositiveCount, Service, ShortText

MOST_FAULTS = 1_000

Seconds = Annotated[float, msgspec.Meta(gt=0, le=3_600)]
FaultRate = Annotated[float, msgspec.Meta(gt=0, le=1)]


class FaultKind(StrEnum):
    """How a service misbehaves."""

    SLOW = "slow"  # waits, then goes on as usual
    DOWN = "down"  # 503 with Retry-After
    FLAKY = "flaky"  # 503 for a part of the calls
    DECLINED = "declined"  # 402
    HANG = "hang"  # no answer, ever
    ANSWER_LOST = "answer_lost"  # does its work and hangs up
    CRASH = "crash"  # does its work and dies


class Fault(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One fault, for the calls of an order and an action, or of all (`*`).

    It strikes `times` times, or until it is switched off (`None`). `seconds` belongs to slow faults, `rate`
    to flaky ones: 0.25 strikes each fourth matching call.
    """

    kind: FaultKind
    order_id: ShortText = "*"
    action: ShortText = "*"
    times: PositiveCount | None = None
    seconds: Seconds | None = None
    rate: FaultRate | None = None

    def __post_init__(self) -> None:
        _require("seconds", FaultKind.SLOW, self.kind, self.seconds)
        _require("rate", FaultKind.FLAKY, self.kind, self.rate)


class StandingFault(msgspec.Struct, frozen=True, kw_only=True):
    """A fault in force: `times` it may still strike, `seen` calls it matched, `hits` calls it struck."""

    number: int
    kind: FaultKind
    order_id: str
    action: str
    times: int | None
    seconds: float | None
    rate: float | None
    seen: int
    hits: int

    def strikes_next(self) -> bool:
        """Whether the next matching call is struck; at a rate of 1/k it is each k-th."""
        rate = 1.0 if self.rate is None else self.rate
        return math.floor((self.seen + 1) * rate) > math.floor(self.seen * rate)


class FaultBook:
    """The faults of one service."""

    def __init__(self, connection: sqlite3.Connection, service: Service) -> None:
        self._connection = connection
        self._service = service

    def replace(self, faults: list[Fault]) -> None:
        """Put these faults in the place of all others."""
        for fault in faults:
            if fault.action not in ("*", *self._service.actions):
                known = ", ".join(self._service.actions)
                raise Problem(400, "malformed faults", f"unknown action {fault.action!r}: use *, {known}")
        with transaction(self._connection):
            self._connection.execute("DELETE FROM fault")
            self._connection.executemany(
                "INSERT INTO fault (kind, order_id, action, times, seconds, rate)"
                " VALUES (:kind, :order_id, :action, :times, :seconds, :rate)",
                [msgspec.structs.asdict(fault) for fault in faults],
            )

    def standing(self) -> list[StandingFault]:
        """Every fault with its hits, spent ones included, in the order in which they were put."""
        rows = self._connection.execute("SELECT * FROM fault ORDER BY number")
        return [_standing(row) for row in rows]

    def strike(self, call: ServiceCall) -> StandingFault | None:
        """The first fault that strikes this call, counted; the call counts as seen by those before it."""
        rows = self._connection.execute(
            "SELECT * FROM fault WHERE order_id IN ('*', ?) AND action IN ('*', ?)"
            " AND (times IS NULL OR times > 0) ORDER BY number",
            (call.order_id, call.action),
        )
        matching = [_standing(row) for row in rows]
        if not matching:
            return None
        with transaction(self._connection):
            for fault in matching:
                strikes = fault.strikes_next()
                self._connection.execute(
                    "UPDATE fault SET seen = seen + 1, hits = hits + :hit, times = times - :hit WHERE number = :number",
                    {"hit": int(strikes), "number": fault.number},
                )
                if strikes:
                    return fault
        return None


def read_faults(body: bytes) -> list[Fault]:
    """The list of faults in the body of a PUT; raises a `Problem` of one line that says what is wrong."""
    try:
        faults = msgspec.json.decode(body, type=list[Fault])
    except msgspec.DecodeError as error:
        raise Problem(400, "malformed faults", str(error)) from error
    if len(faults) > MOST_FAULTS:
        raise Problem(400, "malformed faults", f"at most {MOST_FAULTS} faults, not {len(faults)}")
    return faults


def _require(field: str, owner: FaultKind, kind: FaultKind, value: float | None) -> None:
    if kind is owner and value is None:
        raise ValueError(f"a {kind} fault needs `{field}`")
    if kind is not owner and value is not None:
        raise ValueError(f"a {kind} fault has no `{field}`")


def _standing(row: sqlite3.Row) -> StandingFault:
    return msgspec.convert(dict(row), StandingFault)
