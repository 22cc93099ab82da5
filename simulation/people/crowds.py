"""What some worlds are crowded with: tasks of several priorities and fairness keys that all want one small Agent."""

from __future__ import annotations

import random
from typing import Any

from simulation.application.workload import POLICIES, WorkloadPlan

Rank = dict[str, Any]
"""Priority and fairness key, as a submission gives them."""
USUAL: Rank = {}
CROWDS = (0, 0, 8, 16)
NARROW = "ship.send"
FIRST_AMOUNT = 1_000


class Crowd:
    """The ranks of a world's tasks, given in turn, and who comes beside its usual clients."""

    def __init__(self, chance: random.Random, *, plain: bool) -> None:
        is_ranked = not plain and chance.random() < 0.6
        self.ranks = _ranks(chance) if is_ranked else [USUAL]
        self.plans = [_plan(chance, number) for number in range(chance.choice(CROWDS) if is_ranked else 0)]

    def rank(self, number: int) -> Rank:
        """Of the task with that number."""
        return self.ranks[number % len(self.ranks)]


def _ranks(chance: random.Random) -> list[Rank]:
    priorities = chance.choice([[5], [1, 5, 9]])
    keys: list[str | None] = chance.choice([[None], ["a", "b"], [None, "a", "a", "b"]])
    ranks = [{"priority": priority, "fairness_key": key} for priority in priorities for key in keys]
    chance.shuffle(ranks)
    return ranks


def _plan(chance: random.Random, number: int) -> tuple[str, WorkloadPlan]:
    """A policy, and a plan of a few steps at the Agent that takes few at once."""
    amounts = range(FIRST_AMOUNT + 10 * number, FIRST_AMOUNT + 10 * number + chance.choice([1, 2, 3]))
    steps = [["operation", NARROW, amount, False] for amount in amounts]
    return chance.choice(list(POLICIES)), ["sequence", *steps]
