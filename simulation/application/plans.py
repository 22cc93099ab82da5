"""Plans drawn by the seed: what the workflows of a world do, and what its clients do with them."""

from __future__ import annotations

import random
from typing import Any

from simulation.application.operations import OPERATIONS
from simulation.application.workload import POLICIES, SIGNALS, WorkloadPlan

MOST_STEPS = 12
DEEPEST = 3
SECONDS = (0.1, 0.5, 1.0, 3.0, 8.0)


class Planner:
    """Draws plans from the kinds of nodes that this world knows."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._amount = 0
        self._left = 0
        simple = ["operation"] * 6 + ["sleep", "signal", "value", "bug"]
        joined = ["sequence", "sequence", "gather", "group", "race", "timeout", "guarded", "child"]
        self._simple = ["operation"] * 3 + [kind for kind in simple if chance.random() < 0.7]
        self._joined = ["sequence"] + [kind for kind in joined if chance.random() < 0.6]
        self._operations = [name for name in OPERATIONS if chance.random() < 0.7] or ["pay.charge"]

    def plan(self) -> WorkloadPlan:
        """The plan of a task."""
        self._left = 1 + int(self._chance.random() * MOST_STEPS)
        parts = self._parts(DEEPEST)
        if self._chance.random() < 0.15:
            self._left = 3
            parts.append(["again", ["sequence", *self._parts(1)]])
        return ["sequence", *parts]

    def policy(self) -> str:
        """The workflow of a task."""
        return self._chance.choice(list(POLICIES))

    def _parts(self, depth: int) -> list[Any]:
        parts = [self._node(depth)]
        while self._left > 0 and self._chance.random() < 0.8:
            parts.append(self._node(depth))
        return parts

    def _node(self, depth: int) -> WorkloadPlan:
        if depth == 0 or self._chance.random() < 0.6:
            return self._leaf()
        kind = self._chance.choice(self._joined)
        if kind == "timeout":
            return [kind, self._chance.choice(SECONDS), self._node(depth - 1)]
        if kind == "guarded":
            return [kind, self._node(depth - 1)]
        if kind == "child":
            return [kind, self.policy(), ["sequence", *self._few(depth - 1)], self._chance.random() < 0.3]
        return [kind, *self._few(depth - 1)]

    def _few(self, depth: int) -> list[Any]:
        return [self._node(depth) for _ in range(self._chance.choice([1, 2, 2, 3]))]

    def _leaf(self) -> WorkloadPlan:
        self._left -= 1
        kind = self._chance.choice(self._simple)
        if kind == "sleep":
            return [kind, self._chance.choice(SECONDS)]
        if kind == "signal":
            return [kind, self._chance.choice(SIGNALS), self._chance.choice([None, *SECONDS])]
        if kind == "bug":
            return [kind] if self._chance.random() < 0.1 else ["value"]
        if kind == "operation":
            self._amount += 1
            return [kind, self._chance.choice(self._operations), self._amount, self._chance.random() < 0.3]
        return [kind]
