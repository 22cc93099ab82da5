"""Dead letters over partitions."""

from __future__ import annotations

from collections.abc import Sequence

from stepward.model.records import DeadLetter
from stepward.store.partitions.numbers import outside
from stepward.store.partitions.operators.operator_verbs import SubjectVerbs, outside_row
from stepward.store.partitions.partition import Partition


class PartitionedDeadLetters(SubjectVerbs):
    """Dead letters of every store; each is put back or discarded in its own."""

    async def dead_letters(self, limit: int) -> list[DeadLetter]:
        found = await self._partitions.read_each(lambda store: store.operators.dead_letters(limit))
        letters = [outside_row(partition, letter) for partition, letters in found for letter in letters]
        return sorted(letters, key=lambda letter: letter.buried_at, reverse=True)[:limit]

    async def put_back(self, numbers: Sequence[int], actor: str) -> list[int]:
        found: list[int] = []
        for partition, own in self._partitions.by_number(numbers).items():
            put = await _put_back(partition, own, actor)
            found += [outside(partition.number, number) for number in put]
        return found

    async def discard(self, numbers: Sequence[int], actor: str) -> list[int]:
        found: list[int] = []
        for partition, own in self._partitions.by_number(numbers).items():
            gone = await _discard(partition, own, actor)
            found += [outside(partition.number, number) for number in gone]
        return found


async def _put_back(partition: Partition, numbers: Sequence[int], actor: str) -> list[int]:
    return await partition.ask(lambda store: store.operators.put_back(numbers, actor))


async def _discard(partition: Partition, numbers: Sequence[int], actor: str) -> list[int]:
    return await partition.ask(lambda store: store.operators.discard(numbers, actor))
