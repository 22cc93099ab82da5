"""Warns of standbys that are far behind the primary."""

from __future__ import annotations

from collections.abc import Sequence

from stepward.model.records import Alert
from stepward.store.contract import Standby
from stepward.supervisor.early_warnings.warning import warning


def behind(standbys: Sequence[Standby], most: int) -> list[Alert]:
    """One alert for each standby."""
    return [
        warning(
            "standby_behind",
            f"standby {each.name}: expected at most {most:,} bytes behind the primary, found {each.behind:,}; see its "
            "load and its network",
            standby=each.name,
        )
        for each in standbys
        if each.behind > most
    ]
