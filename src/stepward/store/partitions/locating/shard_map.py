"""Which partition holds each shard, as the stores said when their records were read last."""

from __future__ import annotations

from collections.abc import Sequence

from stepward.store.partitions.partition import Partition
from stepward.store.partitions.placement import SHARDS, Shards, owners

NONE: Shards = frozenset()


class ShardMap:
    """The partition of each shard, and the shards that none of them has."""

    def __init__(self, members: Sequence[Partition]) -> None:
        self._members = members
        self._placed: list[Partition] = []
        self._seen: tuple[list[Partition], Shards] | None = None
        self.version = 0
        """Counts the changes that were seen."""
        self.away: Shards = NONE
        """The shards that have left their store, and are in no other yet."""
        self.is_beyond = False
        """Whether shards have left for a store that is not in the list."""
        self.has_more = False
        """Whether the application has more stores than the list."""

    def partition(self, shard: int) -> Partition:
        """The partition that holds a shard, or is to hold it."""
        return self._placed[shard]

    def update(self) -> bool:
        """Places the shards as the stores say that hold them; whether that is a change.

        A shard may be at the last partition, or still where it was before that one was added. Of one that neither
        holds the last says so once it has it.
        """
        count, last = len(self._members), self._members[-1]
        # A store is added once the share of the one before has moved.
        self.has_more = any(member.count > count for member in self._members)
        after, before = owners(count), owners(count if self.has_more else count - 1)
        placed, away = list[Partition](), set[int]()
        self.is_beyond = False
        for shard in range(SHARDS):
            old = self._members[before[shard]]
            stays = after[shard] == before[shard]
            has_left = old.is_open and shard not in old.shards
            placed.append(old if stays or (not has_left and shard not in last.shards) else last)
            if has_left and not stays and last.is_open and shard not in last.shards:
                away.add(shard)
            self.is_beyond |= has_left and self.has_more
        self.away = frozenset(away)
        if (placed, last.shards) == self._seen:
            return False
        self._seen = self._placed, _ = placed, last.shards
        self.version += 1
        return True
