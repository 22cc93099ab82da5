"""Which tasks, messages, schedules and keys of a store belong to which shard.

Most rows are looked at before the store is locked; within the lock only those follow that came since.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple, TypeVar

from stepward.errors import InvalidPayload, Refused
from stepward.model.messages.cloudevents import decode_event
from stepward.store.contract import Store, Transaction
from stepward.store.named_queries import load_queries
from stepward.store.partitions.placement import is_drawn, shard_of, shard_of_key

Q = load_queries(__package__, "moving.sql")

ROWS_SCANNED = 5_000
"""Rows that are looked at in one transaction before the lock."""
OF_ACTORS = "agents."
"""The queues of requests, which stay: their tasks' new owners send them again."""
OF_EVENTS = ("replies.", "webhooks.")
GATHERED = "\x1f"
"""What separates a key from the response queue whose submissions are gathered apart."""

Placed = TypeVar("Placed", str, int)
Roots = dict[str, list[Placed]]


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


class Scan:
    """What a store has, by shard and id of the root task."""

    def __init__(self) -> None:
        self._tasks: dict[int, Roots[str]] = {}
        self._messages: dict[int, Roots[int]] = {}
        self._letters: dict[int, Roots[int]] = {}
        self._forget()

    def _forget(self) -> None:
        self._tasks, self._last = defaultdict(lambda: defaultdict(list)), (0, "")
        self._messages, self._token = defaultdict(lambda: defaultdict(list)), 0
        self._letters, self._number = defaultdict(lambda: defaultdict(list)), 0

    async def look_ahead(self, store: Store) -> None:
        """Looks at most of what there is, in short transactions."""
        more = True
        while more:
            async with store.client.transaction() as transaction:
                more = await self._look(transaction)

    async def share(self, transaction: Transaction, shard: int) -> Share:
        """What the shard has, with the store locked.

        A tree whose root holds a key goes with the key, whatever its id.
        """
        while await self._look(transaction):
            pass
        keyed = {root: _shard_of_row(key) for root, key in await transaction.execute(Q["keyed"])}
        _check_drawn(keyed)
        mine = {root for root, home in keyed.items() if home == shard}
        tasks = _those(self._tasks, shard, mine, keyed)
        messages = _those(self._messages, shard, mine, keyed)
        letters = _those(self._letters, shard, mine, keyed)
        names = [name for (name,) in await transaction.execute(Q["schedules"]) if shard_of(name) == shard]
        keys = [(w, r, k) for w, r, k in await transaction.execute(Q["keys"]) if _shard_of_row(k) == shard]
        return Share(tasks, messages, letters, names, keys)

    async def _look(self, transaction: Transaction) -> bool:
        """Looks at the next rows; whether there may be more."""
        rowid, uid = self._last
        if rowid and await transaction.execute(Q["uid_at"], (rowid,)) != [(uid,)]:
            # The last row was deleted, so that its number may have been given again.
            self._forget()
        tasks = await transaction.execute(Q["tasks_after"], (self._last[0], ROWS_SCANNED))
        for rowid, uid, id in tasks:
            self._tasks[shard_of(id)][id.partition("/")[0]].append(uid)
            self._last = (rowid, uid)
        messages = await transaction.execute(Q["messages_after"], (self._token, ROWS_SCANNED))
        self._token = _placed(messages, self._messages) or self._token
        letters = await transaction.execute(Q["letters_after"], (self._number, ROWS_SCANNED))
        self._number = _placed(letters, self._letters) or self._number
        return ROWS_SCANNED in (len(tasks), len(messages), len(letters))


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
    return sorted(chosen)


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
