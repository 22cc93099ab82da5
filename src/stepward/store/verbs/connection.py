"""What a verb needs of an engine: a connection that runs named queries, and transactions to run verbs in.

A verb is a coroutine that awaits nothing but its connection. PostgreSQL awaits its server; SQLite, whose statements are
done at once, drives a verb to its end in one step. Each engine has a query of the same name and the same parameters in
its ``.sql`` files.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from stepward.model.plan import Plans
from stepward.model.records import Task
from stepward.store.contract import Submitted

P = ParamSpec("P")
T = TypeVar("T")

VerbRow = Any
"""A row as the engine has it, read by place."""


class VerbConnection(Protocol):
    """A connection within a transaction, as verbs use it. A list among the values is an array of the statement."""

    async def rows(self, query: str, *values: Any) -> list[VerbRow]:
        """All rows of a query."""
        ...

    async def row(self, query: str, *values: Any) -> VerbRow | None:
        """The first row of a query, if any."""
        ...

    async def change(self, query: str, *values: Any) -> int:
        """Run a changing query; how many rows it changed."""
        ...

    async def change_each(self, query: str, many: Sequence[Sequence[Any]], *values: Any) -> int:
        """Run a changing query for each of many rows of values, ``values`` behind each; how many rows it changed."""
        ...

    async def applied(self, query: str, many: Sequence[Sequence[Any]], *values: Any) -> list[int]:
        """As ``change_each``; the places in ``many``, from 0, of those that changed a row."""
        ...

    async def append_audits(self, acts: Sequence[tuple[Any, ...]]) -> None:
        """Append acts to the chain of audits, at the latest when the transaction commits."""
        ...

    async def submit(self, tasks: Sequence[Task], plans: Plans) -> list[Submitted]:
        """Insert tasks whose ids are new, the first of each id, with their plans; what became of each."""
        ...

    async def lock_chain(self) -> None:
        """Keep the chain of audits for this transaction alone until its end."""
        ...


class VerbTransactions(Protocol):
    """How verbs are run; what is run may run again from its beginning."""

    async def read(
        self, work: Callable[Concatenate[VerbConnection, P], Awaitable[T]], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run a verb that reads with one statement."""
        ...

    async def read_more(
        self, work: Callable[Concatenate[VerbConnection, P], Awaitable[T]], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run a verb that reads with several statements; only SQLite shows all of them the same state."""
        ...

    async def single(
        self, work: Callable[Concatenate[VerbConnection, P], Awaitable[T]], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run a verb that writes with one statement, which commits by itself."""
        ...

    async def write(
        self, work: Callable[Concatenate[VerbConnection, P], Awaitable[T]], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run a verb in one transaction that commits when it returns."""
        ...


class VerbClock(Protocol):
    """The clock of the store; where it is a server's, verbs tell it what their answers show."""

    def now(self) -> float:
        """Seconds of the store's clock."""
        ...

    def jumped(self) -> float:
        """By how much it was set since the store was opened."""
        ...

    def read(self) -> float:
        """The instant of a question, for ``heard``."""
        ...

    def heard(self, server: float, sent: float) -> None:
        """An answer to a question of the instant ``sent`` showed the server's clock."""
        ...


async def rows(connection: VerbConnection, query: str, *values: Any) -> list[VerbRow]:
    """A verb of one query: its rows."""
    return await connection.rows(query, *values)


async def row(connection: VerbConnection, query: str, *values: Any) -> VerbRow | None:
    """A verb of one query: its first row."""
    return await connection.row(query, *values)


async def change(connection: VerbConnection, query: str, *values: Any) -> int:
    """A verb of one query that changes rows: how many."""
    return await connection.change(query, *values)


def without_nul(text: str) -> str:
    """A text as every engine takes it: PostgreSQL refuses the character NUL, which a message may quote."""
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}")
