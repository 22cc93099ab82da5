"""The lead among Supervisors: a lease with a term that every changing statement proves."""

from __future__ import annotations

from typing import NamedTuple

from stepward.store.verbs import connection as ask
from stepward.store.verbs.connection import VerbConnection, VerbRow
from stepward.store.verbs.engine import VerbEngine


class Seat(NamedTuple):
    """The leading instance, its term, and the end of its lease."""

    instance: str
    term: int
    expires_at: float


class Leadership:
    """The leadership as this store object knows it; a leader with half of its lease left does not read it again."""

    def __init__(self, engine: VerbEngine) -> None:
        self._transactions = engine.others
        self._clock = engine.clock
        self._seat: Seat | None = None
        self._jumped = self._clock.jumped()
        """The jumps of the clock that the pass under way knows of; another answers for no instant of it."""

    async def lead(self, instance: str, lease: float) -> int | None:
        """Become or stay leader; the term, or None while another leads or this instance is dead."""
        term = await self._led(instance, lease)
        self._jumped = self._clock.jumped()
        return term

    async def leads(self, connection: VerbConnection, term: int) -> bool:
        """Whether ``term`` is the one that leads, and does until this transaction ends."""
        return await connection.row("leadership.prove", term) is not None

    async def may_judge(self, connection: VerbConnection, term: int) -> bool:
        """Whether ``term`` leads, by the same clock as at the last renewal.

        An instance that was paused meanwhile has an instant of an earlier clock, or one by which no lease was renewed.
        """
        sent = self._clock.read()
        row = await connection.row("leadership.prove", term)
        if row is None:
            return False
        self._clock.heard(row[1], sent)
        return self._clock.jumped() == self._jumped

    async def _led(self, instance: str, lease: float) -> int | None:
        now = self._clock.now()
        if self._seat is not None and self._seat.instance == instance and not _lasts(self._seat, lease, now):
            self._seat = await self._stay(self._seat, now + lease)
        seat = self._seat
        if seat is None or seat.instance != instance or not _lasts(seat, lease, now):
            if await self._transactions.read_more(_is_led, instance, now):
                return None
            seat = self._seat = await self._transactions.write(_lead, instance, lease, now)
        return seat.term if seat.instance == instance else None

    async def _stay(self, seat: Seat, until: float) -> Seat | None:
        """Keep the seat in one statement, if it is still there to be kept."""
        kept = await self._transactions.single(ask.change, "leadership.stay", seat.instance, seat.term, until)
        return seat._replace(expires_at=until) if kept else None


async def _lead(connection: VerbConnection, instance: str, lease: float, now: float) -> Seat:
    seat = _seat(await connection.row("leadership.read_to_lead"))
    if await connection.row("leadership.is_dead", instance) is not None:
        return seat._replace(instance="") if seat.instance == instance else seat
    if await _is_taken(connection, seat, instance, now):
        return seat
    term = seat.term if seat.instance == instance else seat.term + 1
    await connection.change("leadership.write", instance, term, now + lease)
    return Seat(instance, term, now + lease)


async def _is_led(connection: VerbConnection, instance: str, now: float) -> bool:
    return await _is_taken(connection, _seat(await connection.row("leadership.read")), instance, now)


async def _is_taken(connection: VerbConnection, seat: Seat, instance: str, now: float) -> bool:
    """Whether another instance leads, whose lease runs and who was not declared dead."""
    if seat.instance == instance or seat.expires_at <= now:
        return False
    return await connection.row("leadership.is_dead", seat.instance) is None


def _lasts(seat: Seat, lease: float, now: float) -> bool:
    """Whether enough of the lease is left, and not far more than a lease: the clock may have gone back."""
    return lease / 2 <= seat.expires_at - now < 2 * lease


def _seat(row: VerbRow | None) -> Seat:
    return Seat(*row) if row else Seat("", 0, 0.0)
