"""What the processes of a deployment serve: workflows, pipelines, and programs if the world has any."""

from __future__ import annotations

from functools import cache, cached_property

from simulation.application import operations, workload
from simulation.application.approvals import desk
from simulation.application.ledger import ledger
from simulation.application.pipelines import PIPELINES
from simulation.random_programs.programs import PROGRAM, SETTLING, lab
from stepward.model.records import WorkflowRecord
from stepward.workflow.registry import Registry


class KnownRegistry(Registry):
    """A registry whose records are made once, whatever number of processes registers them."""

    @cached_property
    def _made(self) -> list[WorkflowRecord]:
        return super().records()

    def records(self) -> list[WorkflowRecord]:
        return self._made


@cache
def served_registry(deployment: int, *, has_programs: bool) -> Registry:
    """What the processes of one deployment serve."""
    also = [PROGRAM, SETTLING] * has_programs
    agents = [*operations.AGENTS, desk, *[lab] * has_programs]
    served = [operation for agent in agents for operation in agent.operations.values()]
    return KnownRegistry([*workload.DEPLOYED[deployment].values(), *PIPELINES.values(), ledger, *also], served)
