"""Which tasks, messages, schedules and keys of a store belong to which shard.

Most rows are looked at before the store is locked; within the lock only those follow that came since.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, NamedTuple, Protocol, TypeVar

from stepward.errors import InvalidPayload, Refused
from stepward.model.messages.cloudevents import decode_event
from stepward.store.contract import Transaction
from stepward.store.partitions.placement import is_drawn, shard_of, shard_of_key

ROWS_SCANNED = 5_000
"""Rows that are looked at in one transaction before the lock."""
OF_ACTORS = "agents."
"""The queues of requests, which stay: their tasks' new owners send them again."""
OF_EVENTS = ("replies.", "webhooks.")
GATHERED = "\x1f"
"""What separates a key from the response queue whose submissions are gathered apart."""

Placed = TypeVar("Placed", str, int)
Roots = dict[str, list[Placed]]


class ScannedTables(Protocol):
    """The tables of the store that is looked through."""

    async def run(self, transaction: Transaction, query: str, *values: Any) -> list[tuple[Any, ...]]:
        """The rows of a query of the engine's ``.sql`` file."""
        ...

    def transaction(self) -> AbstractAsyncContextManager[Transaction]:
        """A short transaction."""
        ...


class Share(NamedTuple):
    """What one shard has in a store."""

    tasks: list[str]
    """Uids."""
    messages: list[int]
    """Tokens."""
    letters: list[int]
    """Numbers of dead letters."""
    schedules: list[str]
    keys: list[tuple[str, str, str]]


class Scan(ABC):
    """What a store has, by shard and id of the root task."""

    def __init__(self, tables: ScannedTables) -> None:
        self._tables = tables
        self.forget()

    def forget(self) -> None:
        """Begins from nothing."""
        self._tasks: dict[int, Roots[str]] = defaultdict(lambda: defaultdict(list))
        self._messages: dict[int, Roots[int]] = defaultdict(lambda: defaultdict(list))
        self._letters: dict[int, Roots[int]] = defaultdict(lambda: defaultdict(list))

    @abstractmethod
    async def look_ahead(self) -> None:
        """Looks at most of what there is, before the store is locked."""

    @abstractmethod
    async def finish(self, transaction: Transaction) -> None:
        """Looks at what came since, with the store locked."""

    def found_task(self, uid: str, id: str) -> None:
        """Notes a task; one may be noted again."""
        self._tasks[shard_of(id)][id.partition("/")[0]].append(uid)

    def found_messages(self, rows: Sequence[tuple[Any, ...]]) -> int | None:
        """Notes messages, by the ids of their tasks; returns the token of the last."""
        return _placed(rows, self._messages)

    def found_letters(self, rows: Sequence[tuple[Any, ...]]) -> int | None:
        """Notes dead letters likewise; returns the number of the last."""
        return _placed(rows, self._letters)

    async def share(self, transaction: Transaction, shard: int) -> Share:
        """What the shard has, with the store locked.

        A tree whose root holds a key goes with the key, whatever its id.
        """
        await self.finish(transaction)
        run = self._tables.run
        keyed = {root: _shard_of_row(key) for root, key in await run(transaction, "keyed")}
        _check_drawn(root for root, home in keyed.items() if shard in (home, shard_of(root)))
        mine = {root for root, home in keyed.items() if home == shard}
        tasks = _those(self._tasks, shard, mine, keyed)
        messages = _those(self._messages, shard, mine, keyed)
        letters = _those(self._letters, shard, mine, keyed)
        names = [name for (name,) in await run(transaction, "schedules") if shard_of(name) == shard]
        keys = [(w, r, k) for w, r, k in await run(transaction, "keys") if _shard_of_row(k) == shard]
        return Share(tasks, messages, letters, names, keys)


def _placed(rows: Sequence[tuple[Any, ...]], found: dict[int, Roots[int]]) -> int | None:
    """Notes messages, or dead letters, by the ids of their tasks; the number of the last."""
    for number, queue, body in rows:
        id = "" if queue.startswith(OF_ACTORS) else _task_of(queue, body)
        if id:
            found[shard_of(id)][id.partition("/")[0]].append(number)
    return rows[-1][0] if rows else None


def _those(found: dict[int, Roots[Placed]], shard: int, mine: set[str], keyed: Collection[str]) -> list[Placed]:
    chosen: list[Placed] = []
    for root, each in found.get(shard, {}).items():
        chosen += [] if root in keyed else each
    for roots in found.values():
        for root in mine & roots.keys():
            chosen += roots[root]
    return sorted(set(chosen))


def _check_drawn(roots: Iterable[str]) -> None:
    """Raises Refused for a task under a key whose id was chosen, while the store was the only one of its application:
    with several the key decides where it is, and its id says otherwise."""
    chosen = next((root for root in roots if not is_drawn(root)), None)
    if chosen is not None:
        raise Refused(
            f"partitions: expected drawn ids of tasks under a key, found {chosen[:100]!r}, which was chosen and "
            "has not ended; wait for its end, or cancel it, and move again"
        )


def _shard_of_row(key: str) -> int:
    return shard_of_key(key.partition(GATHERED)[0])


def _task_of(queue: str, body: bytes) -> str:
    """The id of the task that a message of an application's queue is about; empty for another message."""
    try:
        event = decode_event(body)
    except InvalidPayload:
        return ""
    return (event.subject or "") if queue.startswith(OF_EVENTS) else event.id
