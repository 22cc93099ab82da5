"""Making the record of a submission: every part checked before anything is written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import repeat
from typing import Any

from stepward.client.submitting import validation
from stepward.client.submitting.options import Options
from stepward.clock import Environment
from stepward.model.plan import Plan, Plans, from_json
from stepward.model.records import Task, WorkflowRecord
from stepward.store.contract import ClientStore
from stepward.workflow.definition import Workflow
from stepward.workflow.registry import Registry

KnownWorkflow = Workflow[Any, Any] | WorkflowRecord
"""A workflow by its code, or by what a Scheduler registered of it."""


class Preparation:
    """Makes task records for one application."""

    def __init__(
        self, store: ClientStore, app: str, registry: Registry, environment: Environment, payload_bytes: int
    ) -> None:
        self._store = store
        self._app = app
        self._registry = registry
        self._environment = environment
        self._limit = payload_bytes
        self._plans: dict[tuple[str, str], Plan] = {}

    @property
    def plans(self) -> Plans:
        """The plans of the workflows that were meant so far."""
        return self._plans

    async def known(self, workflow: Workflow[Any, Any] | str) -> KnownWorkflow:
        """The workflow that is meant. Raises UnknownWorkflow."""
        known = await self._known(workflow)
        plan, key = _plan_of(known), (known.name, known.version)
        if plan is not None:
            self._plans[key] = plan
        else:
            self._plans.pop(key, None)
        return known

    async def plan(self, name: str, version: str) -> Plan | None:
        """The plan of a workflow; None for one that is code, or that nobody knows any more."""
        declared = self._registry.workflow(name, version)
        if declared is not None:
            return declared.plan
        found = [record for record in await self._store.workflow(name) if record.version == version]
        return _plan_of(found[0]) if found else None

    async def _known(self, workflow: Workflow[Any, Any] | str) -> KnownWorkflow:
        name = validation.workflow_name(workflow)
        declared = self._registry.newest(name)
        if declared is not None:
            return workflow if isinstance(workflow, Workflow) else declared
        records = await self._store.workflow(name)
        if not records:
            stored = [record.name for record in await self._store.workflows()]
            raise validation.unknown(name, [*stored, *(name for name, _ in self._registry.workflows)])
        return workflow if isinstance(workflow, Workflow) else records[0]

    def task(self, known: KnownWorkflow, args: tuple[Any, ...], kwargs: Mapping[str, Any], options: Options) -> Task:
        """The record of one submission. Raises what does not fit as Refused."""
        (task,) = self._made(known, [options.id], [self._pack(known, args, kwargs)], options)
        return task

    def tasks(
        self,
        known: KnownWorkflow,
        arguments: Sequence[Sequence[Any]],
        ids: Sequence[validation.Id] | None,
        options: Options,
    ) -> list[Task]:
        """A record for each tuple of arguments, alike in all else."""
        inputs = (self._pack(known, tuple(each), {}) for each in arguments)
        return self._made(known, repeat(None) if ids is None else ids, inputs, options)

    def _made(
        self,
        known: KnownWorkflow,
        ids: Iterable[validation.Id | None],
        inputs: Iterable[bytes],
        options: Options,
    ) -> list[Task]:
        now = self._store.now()
        deadline = validation.deadline(options.complete_by, known.complete_seconds, now)
        alike: dict[str, Any] = {
            "workflow": known.name,
            "version": known.version,
            "priority": validation.priority(options.priority),
            "fairness_key": validation.fairness_key(options.fairness_key),
            "labels": validation.labels(options.labels),
            "deadline": deadline,
            "wake_at": validation.wake(options.delay, deadline, now),
            "reply_to": validation.reply_queue(options.reply_to, self._app),
            "created_at": now,
        }
        made = []
        for id, input in zip(ids, inputs, strict=False):
            uid = self._environment.new_uid()
            made.append(Task(uid=uid, id=uid if id is None else validation.task_id(id), input=input, **alike))
        return made

    def _pack(self, known: KnownWorkflow, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bytes:
        if isinstance(known, Workflow):
            return validation.by_declaration(known, args, kwargs, self._limit)
        from stepward.client.submitting.registered_schemas import by_schema  # noqa: PLC0415  slow to import, and few need it

        return by_schema(known, args, kwargs, self._limit)


def _plan_of(known: KnownWorkflow) -> Plan | None:
    if isinstance(known, Workflow):
        return known.plan
    return None if known.plan is None else from_json(known.plan)
