"""The placement of tasks: an id belongs to a shard for ever, and each shard is held by one partition.

A task's key is the id of its root task, so that child tasks are in the store of their parent. Which partition holds a
shard is a rule for a new application, and a record in each store from then on (``list_rules.py``).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache, partial
from hashlib import blake2b

SHARDS = 256
"""The number of shards, which never changes: a task's shard follows from its key alone."""
MOST_PARTITIONS = 16
"""Most stores of one application; each read of all tasks asks every one of them."""

NOMINAL_TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"
UID = r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
DRAWN = re.compile(UID)
OF_SCHEDULE = re.compile(rf"(.+)@(?:{NOMINAL_TIME}|{UID})")
"""The id of a task of a schedule: of a nominal time, or started by hand."""
ENDING = 4
"""Digits of a drawn id that are chosen so that its task is placed in a certain store."""
Shards = frozenset[int]
"""The shards of one partition."""


def placement_key(id: str) -> str:
    """The id of the root task: the id of a child task begins with its parent's and ``/``.

    For a task of a schedule it is the schedule's name, which stands before the nominal time, or before the UUIDv7 of a
    task that was started by hand.
    """
    root = id.partition("/")[0]
    scheduled = OF_SCHEDULE.fullmatch(root)
    return scheduled[1] if scheduled else root


def shard_of(id: str) -> int:
    """The shard of a task or of a schedule."""
    return shard_of_key(placement_key(id))


def shard_of_key(key: str) -> int:
    """The shard of submissions under a key, of all of its text: ``customer/1`` is no child of ``customer``."""
    return _shard(_hash(key).digest())


def _hash(text: str) -> blake2b:
    return blake2b(text.encode(), digest_size=2)


def _shard(digest: bytes) -> int:
    return int.from_bytes(digest) % SHARDS


def is_drawn(id: str) -> bool:
    """Whether the root of an id looks like one that was drawn, and not chosen: a UUIDv7."""
    return DRAWN.fullmatch(id.partition("/")[0]) is not None


def drawn_at(id: str) -> float:
    """The instant at which an id was drawn, in seconds since 1970 by the clock of the host that drew it."""
    return int(id[:8] + id[9:13], 16) / 1000


def drawn_in(uid: str, shards: Shards) -> str:
    """The uid with other last digits, so that a task of that id is placed in one of the shards.

    Of 65,536 endings one in 256 fits each shard.
    """
    beginning, first = uid[:-ENDING], int(uid[-ENDING:], 16)
    hashed = _hash(beginning)
    for number in range(16**ENDING):
        ending = f"{(first + number) % 16**ENDING:0{ENDING}x}"
        whole = hashed.copy()
        whole.update(ending.encode())
        if _shard(whole.digest()) in shards:
            return beginning + ending
    return uid


def partition_name(number: int) -> str:
    """The name of a partition by its place in the list, counted from 1."""
    return f"p{number}"


@cache
def initial_shards(count: int) -> list[Shards]:
    """The shards of each partition of a new application with that many stores.

    It is what remains after partitions were added one by one.
    """
    held = [frozenset(range(SHARDS))]
    while len(held) < count:
        held = with_one_more(held)
    return held


@cache
def owners(count: int) -> list[int]:
    """By shard, the place in the list of the partition that is to hold it, of so many; of none, the first."""
    held = initial_shards(max(count, 1))
    return [next(place for place, shards in enumerate(held) if shard in shards) for shard in range(SHARDS)]


def with_one_more(held: Sequence[Shards]) -> list[Shards]:
    """The shards of each partition once another is added, which takes its share, rounded down; no other gains one.

    The share comes from the partitions that hold most. Of two shards of one partition, that one goes which the name
    of the new partition and the shard's number rank first, so that the choice is the same in every process.
    """
    name = partition_name(len(held) + 1)
    left = [sorted(shards, key=partial(_rank, name), reverse=True) for shards in held]
    new = [max(left, key=len).pop() for _ in range(SHARDS // (len(held) + 1))]
    return [*map(frozenset, left), frozenset(new)]


def _rank(name: str, shard: int) -> bytes:
    return blake2b(f"{name}/{shard}".encode(), digest_size=8).digest()


def written(shards: Shards) -> str:
    """The shards as text: 256 bits in hexadecimal, the highest shard first."""
    return f"{sum(1 << shard for shard in shards):0{SHARDS // 4}x}"


def read_shards(text: str) -> Shards:
    """The shards that ``written`` wrote. Raises ValueError."""
    bits = int(text, 16)
    return frozenset(shard for shard in range(SHARDS) if bits >> shard & 1)
