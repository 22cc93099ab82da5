"""The registry of a program: its workflows by version, and the operations of its Agents."""

from __future__ import annotations

import reprlib
from collections.abc import Iterable
from typing import Any

from stepward.errors import DeclarationError
from stepward.model.action import Action
from stepward.model.limits.flow_limit import FlowLimit, workflow_limit
from stepward.model.pipeline_plan import to_json
from stepward.model.records import WorkflowRecord
from stepward.payload import encode
from stepward.policies import Limit
from stepward.workflow.definition import Workflow


class Registry:
    """Actions are found here by registered name only, never by dotted path."""

    def __init__(self, workflows: Iterable[Workflow[Any, Any]], operations: Iterable[Action[Any, Any]]) -> None:
        self.workflows: dict[tuple[str, str], Workflow[Any, Any]] = {}
        """By name and version."""
        self.newest: dict[str, Workflow[Any, Any]] = {}
        """By name, the version that was given last."""
        self.operations: dict[str, Action[Any, Any]] = {}
        self.events_to: dict[str, str] = {}
        """By name of a workflow, the webhooks that get the status events of its tasks."""
        for workflow in workflows:
            if not isinstance(workflow, Workflow):
                raise DeclarationError(
                    f"workflows: expected what @workflow declares, found {_name(workflow)}; put @workflow above it"
                )
            self._add(self.workflows, (workflow.name, workflow.version), workflow)
        self.newest.update({workflow.name: workflow for workflow in self.workflows.values()})
        for operation in operations:
            self._add(self.operations, operation.name, operation)

    def records(self) -> list[WorkflowRecord]:
        """The records for the store, so that clients and Supervisors need no code."""
        return [
            WorkflowRecord(
                name=workflow.name,
                version=workflow.version,
                schema=encode(workflow.signature.schema(), f"schema of {workflow.name}"),
                policy=workflow.supervision.to_json(),
                complete_seconds=workflow.complete_seconds,
                plan=None if workflow.plan is None else to_json(workflow.plan),
                events_to=self.events_to.get(workflow.name),
            )
            for workflow in self.workflows.values()
        ]

    def limits(self) -> list[FlowLimit]:
        """The limits that workflows declare: that of its newest version counts."""
        return [
            _declared(workflow_limit(name), workflow.limit)
            for name, workflow in self.newest.items()
            if workflow.limit is not None
        ]

    @staticmethod
    def _add(known: dict[Any, Any], key: Any, action: Action[Any, Any]) -> None:
        if known.get(key, action) is not action:
            raise DeclarationError(f"{action.kind} {key}: expected one declaration, found two; rename one")
        known[key] = action


def _declared(name: str, limit: Limit) -> FlowLimit:
    rate = limit.rate_limit
    return FlowLimit(
        name=name,
        per_key=limit.per is not None,
        declared_concurrency=limit.concurrency,
        declared_starts=None if rate is None else rate.calls,
        declared_seconds=None if rate is None else rate.per_seconds,
    )


def _name(found: object) -> str:
    return str(getattr(found, "__name__", reprlib.repr(found)))
