"""Fairness: within a priority the fairness keys take turns, from claim to claim of one Scheduler."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from stepward.model.records import Task
from stepward.store.contract import Least

Turns = Mapping[int, str]
"""For each priority the fairness key that had its turn last; no key at all goes by the empty text, as on the rows."""
NO_TURNS: Turns = {}


def gone_on(turns: Turns, claimed: Sequence[Task]) -> Turns:
    """The turns once these tasks, in their order, had theirs."""
    return {**turns, **{task.priority: task.fairness_key or "" for task in claimed}}


def passed_over(least: Least | None, priority: int) -> set[str]:
    """The fairness keys of which nothing is to be claimed at that priority."""
    if least is None or least.priority != priority:
        return set()
    return {key or "" for key in least.but}
