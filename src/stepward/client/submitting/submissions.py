"""Submissions: checked and recorded alone, many at once, within a transaction, or by a Scheduler of this process."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import repeat
from sys import modules
from typing import Any

import msgspec

from stepward.client.submitting import act_arguments, submission_checks
from stepward.client.submitting.in_transaction import KnownWorkflow, Prepared, Uncommitted, is_ours
from stepward.client.submitting.key_rule_checks import check_collected, check_rule, check_rule_within
from stepward.client.submitting.known_options import Options
from stepward.client.submitting.submission_checks import Id
from stepward.clock import Environment
from stepward.errors import Refused
from stepward.events import Hints
from stepward.large_payloads import PayloadKeeper
from stepward.model.pipeline_plan import Plan, Plans, from_json
from stepward.model.records import Task, WorkflowRecord
from stepward.model.tasks.attributes import NO_ATTRIBUTES, encoded
from stepward.model.tracing.submission_span import API, current_traceparent, linked
from stepward.store.contract import ClientStore, ExternalTransaction, Submitted, WaitForHook
from stepward.store.partitions.drawn_ids import uid_for_key
from stepward.store.partitions.single_or_partitioned import is_partitioned
from stepward.store.rules.refusals import check_same
from stepward.workflow.definition import Workflow
from stepward.workflow.registry import Registry

BATCH = 10_000
"""Most rows of one transaction, where several are allowed."""

SubmitLocally = Callable[[Task], "asyncio.Future[Submitted | None] | None"]
"""Has a Scheduler of this process record and claim a submission; None when there is none with room."""


class SubmissionWriter:
    """Checks submissions and writes them into one store."""

    def __init__(
        self,
        store: ClientStore,
        preparation: Preparation,
        hints: Hints,
        submit_locally: SubmitLocally | None,
        keeper: PayloadKeeper | None = None,
    ) -> None:
        self._store = store
        self._keeper = keeper
        self.preparation = preparation
        self._hints = hints
        self._submit_locally = submit_locally
        self._uncommitted = Uncommitted()

    async def prepared(
        self, workflow: Workflow[Any, Any] | str, args: tuple[Any, ...], kwargs: Mapping[str, Any], options: Options
    ) -> Prepared:
        """One submission that is checked."""
        known = await self.preparation.known(workflow)
        task = self.preparation.task(known, args, kwargs, options)
        return Prepared(known, [task], self.preparation.plans, options.per_key)

    async def prepared_many(
        self,
        workflow: Workflow[Any, Any] | str,
        arguments: Sequence[Sequence[Any]],
        ids: Sequence[Id] | None,
        options: Options,
    ) -> Prepared:
        """Submissions that are checked, one for each tuple of arguments."""
        act_arguments.rows(arguments, ids)
        if ids is not None and len(ids) != len(arguments):
            raise Refused(f"ids: expected {len(arguments)}, one for each tuple of arguments, found {len(ids)}")
        known = await self.preparation.known(workflow)
        tasks = self.preparation.tasks(known, arguments, ids, options)
        return Prepared(known, tasks, self.preparation.plans, options.per_key)

    async def plan(self, workflow: str, version: str) -> Plan | None:
        """The plan of a pipeline; None for workflow code."""
        return await self.preparation.plan(workflow, version)

    async def write(self, prepared: Prepared, transaction: object, actor: str) -> list[Submitted]:
        """Write one task, within an open transaction or (None) in one of its own. Raises TaskConflict."""
        if transaction is not None:
            return await self._write_within(transaction, prepared, actor)
        (task,) = prepared.tasks
        if self._submit_locally is not None and task.wake_at is None and prepared.rule is None:
            born = self._submit_locally(msgspec.structs.replace(task))
            submitted = await born if born is not None else None
            if submitted is not None:
                return [submitted]
        if prepared.rule is None:
            (found,) = await self._store.submit([task], prepared.plans)
            check_same([found])
        else:
            (found,) = await prepared.submit(self._store, BATCH, actor)
        self._hints.hint()
        return [found]

    async def write_many(
        self, prepared: Prepared, transaction: object, actor: str, *, at_once: bool
    ) -> list[Submitted]:
        """Write all, within an open transaction or (None) in transactions of their own: in one if ``at_once``, or in
        one for each store of several."""
        if transaction is not None:
            return await self._write_within(transaction, prepared, actor)
        if at_once and prepared.rule is None and not is_partitioned(self._store):
            prepared = await self.outside(prepared)
            async with self._store.transaction() as whole:
                submitted = await prepared.submit(whole, BATCH, actor)
        else:
            submitted = await prepared.submit(self._store, BATCH, actor)
        self._hints.hint()
        return submitted

    async def _write_within(self, transaction: object, prepared: Prepared, actor: str) -> list[Submitted]:
        """Write them within an open transaction, one of ours or the application's own."""
        check_rule_within(prepared.rule, is_ours=is_ours(transaction))
        prepared = await self.outside(prepared)
        if is_ours(transaction):
            async with transaction.savepoint():
                return await prepared.submit(transaction, BATCH, actor)
        borrowed = self._store.external(transaction)
        submitted = await prepared.submit_borrowed(borrowed, BATCH)
        self._uncommitted.add(submitted, borrowed.ring)
        return submitted

    async def outside(self, prepared: Prepared) -> Prepared:
        """The submission with references in place of large arguments, for a transaction that is open already."""
        if self._keeper is None:
            return prepared
        inputs = await self._keeper.put_all((task.uid, task.input) for task in prepared.tasks)
        tasks = [
            task if input is task.input else msgspec.structs.replace(task, input=input)
            for task, input in zip(prepared.tasks, inputs, strict=True)
        ]
        return prepared._replace(tasks=tasks)

    def external(self, transaction: object) -> ExternalTransaction:
        """The application's own transaction. Raises Refused for what is none."""
        return self._store.external(transaction)

    def write_blocking(self, borrowed: ExternalTransaction, prepared: Prepared, wait: WaitForHook) -> list[Submitted]:
        """Write them within an application's own transaction, on its connection, in the thread that calls.

        Large arguments are outside already.
        """
        check_rule_within(prepared.rule, is_ours=False)
        submitted = prepared.submit_blocking(borrowed, BATCH, wait)
        self._uncommitted.add(submitted, borrowed.ring)
        return submitted

    def look_for(self, uid: str) -> None:
        """A client waits for that task: if its transaction is the application's own, Schedulers look for it now."""
        if self._uncommitted.look_for(uid):
            self._hints.hint()


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
        name = submission_checks.workflow_name(workflow)
        known = self._registry.newest.get(name) or await self._registered(name)
        if isinstance(workflow, Workflow):
            known = workflow
        plan, key = _plan_of(known), (known.name, known.version)
        if plan is not None:
            self._plans[key] = plan
        else:
            self._plans.pop(key, None)
        return known

    async def plan(self, name: str, version: str) -> Plan | None:
        """The plan of a workflow; None for one that is code, or that is no longer known."""
        declared = self._registry.workflows.get((name, version))
        if declared is not None:
            return declared.plan
        found = [record for record in await self._store.workflow(name) if record.version == version]
        return _plan_of(found[0]) if found else None

    async def known_version(self, name: str, version: str) -> KnownWorkflow:
        """A version of a workflow that this program declares, or that was ever served. Raises UnknownWorkflow."""
        declared = self._registry.workflows.get((name, version))
        if declared is not None:
            return declared
        records = await self._store.workflow(name)
        found = next((record for record in records if record.version == version), None)
        if found is None:
            raise submission_checks.unknown_version(name, version, [record.version for record in records])
        return found

    async def _registered(self, name: str) -> WorkflowRecord:
        """What a Scheduler registered last of a workflow. Raises UnknownWorkflow."""
        records = await self._store.workflow(name)
        if not records:
            stored = [record.name for record in await self._store.workflows()]
            raise submission_checks.unknown(name, [*stored, *(name for name, _ in self._registry.workflows)])
        return records[0]

    def task(self, known: KnownWorkflow, args: tuple[Any, ...], kwargs: Mapping[str, Any], options: Options) -> Task:
        """The record of one submission. Raises what does not fit as Refused."""
        (task,) = self._made(known, [options.id], [self.pack(known, args, kwargs)], options)
        return task

    def tasks(
        self,
        known: KnownWorkflow,
        arguments: Sequence[Sequence[Any]],
        ids: Sequence[submission_checks.Id] | None,
        options: Options,
    ) -> list[Task]:
        """A record for each tuple of arguments, alike in all else."""
        inputs = (self.pack(known, each if type(each) is tuple else act_arguments.row(each), {}) for each in arguments)
        return self._made(known, repeat(None) if ids is None else ids, inputs, options)

    def _made(
        self,
        known: KnownWorkflow,
        ids: Iterable[submission_checks.Id | None],
        inputs: Iterable[bytes],
        options: Options,
    ) -> list[Task]:
        now = self._store.now()
        deadline = submission_checks.deadline(options.complete_by, known.complete_seconds, now)
        if options.per_key is not None:
            check_rule(options, None if deadline is None else deadline - now)
        attributes = linked(options.attributes, current_traceparent()) if API in modules else options.attributes
        alike: dict[str, Any] = {
            "workflow": known.name,
            "version": known.version,
            "priority": submission_checks.priority(options.priority),
            "fairness_key": submission_checks.fairness_key(options.fairness_key),
            "labels": submission_checks.labels(options.labels),
            "attributes": encoded(attributes) if attributes else NO_ATTRIBUTES,
            "deadline": deadline,
            "wake_at": submission_checks.wake(options.delay, deadline, now),
            "reply_to": submission_checks.reply_queue(options.reply_to, self._app),
            "created_at": now,
            "events_to": known.events_to
            if isinstance(known, WorkflowRecord)
            else self._registry.events_to.get(known.name),
        }
        made = []
        for id, input in zip(ids, inputs, strict=False):
            uid = self._environment.new_uid()
            if options.per_key is not None:
                check_collected(options.per_key, input)
                uid = uid_for_key(self._store, options.per_key.key, uid)
            made.append(Task(uid=uid, id=uid if id is None else submission_checks.task_id(id), input=input, **alike))
        return made

    def pack(self, known: KnownWorkflow, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bytes:
        if isinstance(known, Workflow):
            return submission_checks.by_declaration(known, args, kwargs, self._limit)
        from stepward.client.submitting.registered_schemas import by_schema  # noqa: PLC0415  slow to import, and few need it

        return by_schema(known, args, kwargs, self._limit)


def _plan_of(known: KnownWorkflow) -> Plan | None:
    if isinstance(known, Workflow):
        return known.plan
    return None if known.plan is None else from_json(known.plan)
