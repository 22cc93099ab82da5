"""Warns of the other stores of an application whose tasks stand still."""

from __future__ import annotations

from collections.abc import Mapping

from stepward.model.records import Alert
from stepward.supervisor.early_warnings.warning import warning


def partitions_down(down: Mapping[str, str]) -> list[Alert]:
    """One alert for each partition, by why it is down."""
    return [
        warning(
            "partition_down",
            f"partition {name}: expected its store in use, found its tasks stand still: {why}; the tasks of the other "
            "stores go on",
            partition=name,
        )
        for name, why in down.items()
    ]
