"""Which Supervisor leads: a lease with a term that every changing statement proves."""

from __future__ import annotations

from typing import NamedTuple

from stepward.store.queries import load_queries
from stepward.store.sqlite.clock import StoreClock
from stepward.store.sqlite.connection import Connection
from stepward.store.sqlite.database import Database

Q = load_queries(__package__, "leadership.sql")


class Seat(NamedTuple):
    """Who leads, in which term, until when."""

    instance: str
    term: int
    expires_at: float


class Leadership:
    """The seat as this store object knows it; a leader with half of its lease left asks nobody."""

    def __init__(self, database: Database, clock: StoreClock) -> None:
        self._database = database
        self._clock = clock
        self._seat: Seat | None = None

    async def lead(self, instance: str, lease: float) -> int | None:
        """Become or stay leader; the term, or None while another leads or this instance is dead."""
        now = self._clock.now()
        if self._seat is not None and self._seat.instance == instance and self._seat.expires_at - now < lease / 2:
            self._seat = await self._stay(self._seat, now + lease)
        seat = self._seat
        if seat is None or seat.instance != instance or seat.expires_at - now < lease / 2:
            if await self._database.snapshot(_is_taken, instance, now):
                return None
            seat = self._seat = await self._database.write(_lead, instance, lease, now)
        return seat.term if seat.instance == instance else None

    async def _stay(self, seat: Seat, until: float) -> Seat | None:
        """Keep the seat in one statement, if it is still there to be kept."""
        kept = await self._database.single(Connection.change, Q["stay"], (seat.instance, seat.term, until))
        return seat._replace(expires_at=until) if kept else None


def leads(connection: Connection, term: int) -> bool:
    """Whether ``term`` is still the one that leads."""
    row = connection.row(Q["read"])
    return row is not None and row[1] == term


def _lead(connection: Connection, instance: str, lease: float, now: float) -> Seat:
    row = connection.row(Q["read"])
    seat = Seat(*row) if row else Seat("", 0, 0.0)
    if connection.row(Q["is_dead"], (instance,)) is not None:
        return seat._replace(instance="") if seat.instance == instance else seat
    if _is_taken(connection, instance, now):
        return seat
    term = seat.term if seat.instance == instance else seat.term + 1
    connection.change(Q["write"], (instance, term, now + lease))
    return Seat(instance, term, now + lease)


def _is_taken(connection: Connection, instance: str, now: float) -> bool:
    """Whether another instance leads, whose lease runs and who was not declared dead."""
    row = connection.row(Q["read"])
    seat = Seat(*row) if row else Seat("", 0, 0.0)
    if seat.instance == instance or seat.expires_at <= now:
        return False
    return connection.row(Q["is_dead"], (seat.instance,)) is None
