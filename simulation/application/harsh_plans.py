"""What harsh worlds make of a plan: code that reads flags, that raises what ends processes, that never ends."""

from __future__ import annotations

import random

from simulation.application.deployments import DEPLOYMENTS, FLAG, FLAGS
from simulation.application.workload import ENDS_OF_PROCESSES, WorkloadPlan
from simulation.environment.faults import Rates

PAUSES = (0.1, 0.5, 2.0)


class HarshPlans:
    """Changes some plans; each kind draws from a source of its own, so that leaving one out leaves the others."""

    def __init__(self, rates: Rates, seed: int) -> None:
        self._rates = rates
        self._flags = random.Random(f"{seed}/flags")
        self._raising = random.Random(f"{seed}/raising")
        self._hangs = random.Random(f"{seed}/hangs")
        self._endless = random.Random(f"{seed}/endless")

    def changed(self, plan: WorkloadPlan) -> WorkloadPlan:
        """The plan as this world follows it."""
        return self._ending_never(self._hanging(self._interrupting(self._asking(plan))))

    def _asking(self, plan: WorkloadPlan) -> WorkloadPlan:
        """A plan that takes one of two branches, by a flag."""
        chance = self._flags
        if not self._rates.flag_every or chance.random() < 0.3:
            return plan
        return [FLAG, chance.choice(FLAGS), plan, chance.choice(DEPLOYMENTS[1:])(plan)]

    def _interrupting(self, plan: WorkloadPlan) -> WorkloadPlan:
        """A plan that raises, before, beside or after the rest."""
        chance = self._raising
        if chance.random() >= self._rates.interrupt:
            return plan
        parts = [["raise", chance.choice(list(ENDS_OF_PROCESSES))], plan]
        chance.shuffle(parts)
        return [chance.choice(["sequence", "sequence", "gather", "race", "group"]), *parts]

    def _hanging(self, plan: WorkloadPlan) -> WorkloadPlan:
        """A plan that hangs, at once, in the end, or beside the rest."""
        chance = self._hangs
        if chance.random() >= self._rates.hang:
            return plan
        parts = [["hang"], plan]
        chance.shuffle(parts)
        return [chance.choice(["sequence", "gather"]), *parts]

    def _ending_never(self, plan: WorkloadPlan) -> WorkloadPlan:
        """A plan that begins a new run again and again."""
        chance = self._endless
        if chance.random() >= self._rates.endless or '"again"' in str(plan).replace("'", '"'):
            return plan
        return ["endless", plan, chance.choice(PAUSES)]
