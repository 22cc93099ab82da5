"""Pipelines under simulation, and what every commit must keep of their plans."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from simulation.application.operations import booked, charge, note, post, send
from simulation.application.workload import POLICIES, WORKFLOWS
from simulation.invariants.history import Change, Mirror
from simulation.invariants.watched_rows import StepRow, TaskRow
from stepward.model.pipeline_plan import Plan
from stepward.workflow.definition import Workflow, step
from stepward.workflow.pipeline.pipeline import Pipeline
from stepward.workflow.pipeline.stages import From, Given, Stage

OnBroken = Callable[[str, str], None]
"""Called with the invariant, and what broke it."""

NESTED = ["gather", ["operation", "pay.charge", 3, True], ["operation", "mail.post", 4, False]]


@step(complete_by="2s")
async def measure(plan: list[Any]) -> int:
    """An amount out of whatever a client wants."""
    return 1 + len(str(plan)) % 50


def _pipeline(policy: str, name: str, stages: Mapping[str, Stage]) -> Pipeline:
    complete_by, supervision = POLICIES[policy]
    wanted = {"measure": Stage(measure, Given("plan")), **stages}
    given = {"plan": list[Any]}
    return Pipeline(name, wanted, given=given, complete_by=complete_by, supervision=supervision)


def _inner(policy: str) -> Pipeline:
    stages = {
        "second": Stage(charge, 2, after=["first"]),
        "first": Stage(charge, From("measure")),
        "aside": Stage(note, From("measure")),
    }
    return _pipeline(policy, f"{policy}.inner", stages)


def _outer(policy: str, inner: Pipeline) -> Pipeline:
    stages = {
        "charge": Stage(charge, From("measure")),
        "send": Stage(send, From("measure")),
        "book": Stage(booked, From("measure"), after=["charge"]),
        "inner": Stage(inner, [1, 2, 3], after=["charge"]),
        "code": Stage(WORKFLOWS[policy], NESTED, after=["send"]),
        "again": Stage(charge, From("book"), after=["send"]),
        "post": Stage(post, 7, after=["inner", "code", "again"]),
    }
    return _pipeline(policy, f"{policy}.outer", stages)


_INNER = {policy: _inner(policy) for policy in POLICIES}
_OUTER = {policy: _outer(policy, _INNER[policy]) for policy in POLICIES}
PIPELINES: dict[str, Workflow[..., Any]] = {
    pipeline.name: pipeline for pipeline in (*_INNER.values(), *_OUTER.values())
}


class PipelinePlans:
    """Follows the tasks that have a plan."""

    def __init__(self, mirror: Mirror, broken: OnBroken) -> None:
        self._mirror = mirror
        self._broken = broken

    def committed(self, entries: Sequence[Change]) -> None:
        """Check a transaction that the mirror has followed already."""
        for table, before, after in entries:
            if table == "task" and before is None:
                self._check_recorded(after, entries)
            elif table == "step" and after is not None and after.state == "running" and _begins(before, after):
                self._check_turn(after)

    def _check_recorded(self, task: TaskRow, entries: Sequence[Change]) -> None:
        """R22: every stage has its record from the submission on."""
        steps = [entry.after for entry in entries if entry.table == "step" and entry.after is not None]
        recorded = {step.key for step in steps if step.task == task.uid}
        missing = [stage.key for stage in _plan_of(task) if stage.key not in recorded]
        if missing:
            self._broken("R22", f"{task.id} came into being without {', '.join(missing)}")

    def _check_turn(self, step: StepRow) -> None:
        """S11: a stage starts when those that it waits for are done."""
        task = self._mirror.tasks.get(step.task)
        plan = {} if task is None else {stage.stage: stage for stage in _plan_of(task)}
        for stage in plan.values():
            for name in stage.waits_for if stage.key == step.key else ():
                awaited = self._mirror.steps.get((step.task, step.run, plan[name].key))
                if awaited is None or awaited.state != "completed":
                    self._broken("S11", f"{step.task}: {step.key} runs before {plan[name].key} is done")


def _begins(before: StepRow | None, after: StepRow) -> bool:
    return after.kind != "undo" and (before is None or before.state != "running")


def _plan_of(task: TaskRow) -> Plan:
    workflow = PIPELINES.get(task.workflow)
    return (workflow.plan or ()) if workflow is not None else ()
