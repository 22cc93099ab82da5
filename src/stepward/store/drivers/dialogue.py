"""Dialogues: statements on a caller's connection, independent of its driver.

A dialogue is a generator: it yields statements, and receives the rows or the driver's exception. So the same code
serves drivers that block, in the calling thread, and drivers that are awaited.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator, Sequence
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")

PLACE = ":given"
"""Where the one parameter stands in a statement; each driver has its own way to write it."""

ExternalRows = Sequence[Sequence[Any]]


class Ask(NamedTuple):
    """A statement with at most one parameter: a text of ASCII, so that no encoding of a connection changes it."""

    sql: str
    given: str | None = None

    def written(self, place: str, escape: Callable[[str], str] = str) -> str:
        """The statement with its parameter as the driver writes it, and all else escaped as it must be."""
        return place.join(escape(part) for part in self.sql.split(PLACE))


Dialogue = Generator[Ask, ExternalRows, T]


class Blocking(NamedTuple):
    """A connection that blocks its thread until the answer is there."""

    database: str
    """``postgresql`` or ``sqlite``."""
    ask: Callable[[Ask], ExternalRows]
    in_file: Callable[[], object] | None = None
    """On SQLite: the connection of sqlite3 or aiosqlite that it goes through."""


class Awaited(NamedTuple):
    """A connection whose answers are awaited."""

    database: str
    ask: Callable[[Ask], Awaitable[ExternalRows]]
    run_blocking: Callable[[Callable[[Blocking], None]], Awaitable[None]] | None = None
    """On SQLite: calls a function with the blocking connection below, as SQLAlchemy's ``run_sync`` does."""


ExternalConnection = Blocking | Awaited


def converse_blocking(caller: Blocking, dialogue: Dialogue[T]) -> T:
    """Hold the dialogue on the connection, in this thread."""
    try:
        ask = next(dialogue)
        while True:
            try:
                rows = caller.ask(ask)
            except BaseException as error:
                ask = dialogue.throw(error)
            else:
                ask = dialogue.send(rows)
    except StopIteration as end:
        result: T = end.value
        return result


async def converse(caller: ExternalConnection, dialogue: Dialogue[T]) -> T:
    """Hold the dialogue on the connection; one that blocks blocks this loop, as its own statements do."""
    if isinstance(caller, Blocking):
        return converse_blocking(caller, dialogue)
    try:
        ask = next(dialogue)
        while True:
            try:
                rows = await caller.ask(ask)
            except BaseException as error:
                ask = dialogue.throw(error)
            else:
                ask = dialogue.send(rows)
    except StopIteration as end:
        result: T = end.value
        return result
