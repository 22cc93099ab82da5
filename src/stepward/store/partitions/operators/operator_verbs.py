"""What the operators' verbs of every subject have in common over partitions."""

from __future__ import annotations

from typing import TypeVar

from msgspec.structs import replace

from stepward.model.records import Alert, Audit, DeadLetter
from stepward.store.partitions.numbers import outside
from stepward.store.partitions.partition import Partition
from stepward.store.partitions.partition_routing import ARRIVAL_SECONDS, LOOK_SECONDS, Partitions

Numbered = TypeVar("Numbered", Alert, Audit, DeadLetter)
LOOKS = round(ARRIVAL_SECONDS / LOOK_SECONDS)
"""Most times that something is looked for while its shard is on its way."""


class SubjectVerbs:
    """The partitions that the verbs of one subject ask."""

    def __init__(self, partitions: Partitions) -> None:
        self._partitions = partitions

    def now(self) -> float:
        return self._partitions.now()


def outside_row(partition: Partition, row: Numbered) -> Numbered:
    """A row of a partition with the number by which applications know it."""
    return replace(row, number=outside(partition.number, row.number))
