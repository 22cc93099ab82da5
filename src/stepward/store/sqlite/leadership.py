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
        seat = self._seat
        if seat is None or seat.instance != instance or seat.expires_at - now < lease / 2:
            seat = self._seat = await self._database.write(_lead, instance, lease, now)
        return seat.term if seat.instance == instance else None


def leads(connection: Connection, term: int) -> bool:
    """Whether ``term`` is still the one that leads."""
    row = connection.row(Q["read"])
    return row is not None and row[1] == term


def _lead(connection: Connection, instance: str, lease: float, now: float) -> Seat:
    row = connection.row(Q["read"])
    seat = Seat(*row) if row else Seat("", 0, 0.0)
    if connection.row(Q["is_dead"], (instance,)) is not None:
        return seat._replace(instance="") if seat.instance == instance else seat
    taken = seat.instance != instance and seat.expires_at > now and not connection.row(Q["is_dead"], (seat.instance,))
    if taken:
        return seat
    term = seat.term if seat.instance == instance else seat.term + 1
    connection.change(Q["write"], (instance, term, now + lease))
    return Seat(instance, term, now + lease)
