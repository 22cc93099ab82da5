"""The part of the client that submits tasks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from sys import modules
from typing import Any, ParamSpec, TypeVarTuple, Unpack, overload

from msgspec.structs import replace

from stepward.client.handle import R, TaskHandle, handles
from stepward.client.session import ClientSession
from stepward.client.submitting import submission_checks
from stepward.client.submitting.known_options import Options, options_of
from stepward.durations import Duration
from stepward.model.tasks.attributes import AttributeValue
from stepward.model.tasks.key_rules import KeyRule
from stepward.model.tasks.submit_options import SubmitOptions, TaskOptions
from stepward.model.tracing.submission_span import API, UNTRACED, producing
from stepward.workflow.definition import ChildCall, Workflow

P = ParamSpec("P")
Ts = TypeVarTuple("Ts")


class SubmittingClient:
    """What ``Client`` inherits to submit tasks."""

    _session: ClientSession

    @overload
    async def submit(
        self,
        workflow: Callable[[Unpack[Ts]], ChildCall[R]],
        *args: *Ts,
        **options: Unpack[TaskOptions],
    ) -> TaskHandle[R]: ...
    @overload
    async def submit(self, workflow: Workflow[P, R], *args: P.args, **kwargs: P.kwargs) -> TaskHandle[R]: ...
    @overload
    async def submit(self, workflow: str, *args: Any, **kwargs: Any) -> TaskHandle: ...
    async def submit(  # type: ignore[misc]  # the options of the first are listed one by one
        self,
        workflow: Any,
        *args: Any,
        id: submission_checks.Id | None = None,
        priority: int = 5,
        complete_by: datetime | Duration | None = None,
        delay: Duration | None = None,
        reply_to: str | None = None,
        transaction: object = None,
        labels: Mapping[str, str] | None = None,
        attributes: Mapping[str, AttributeValue] | None = None,
        fairness_key: str | None = None,
        per_key: KeyRule | None = None,
        **kwargs: Any,
    ) -> TaskHandle[Any]:
        """Have a workflow run once; returns when that is durable.

        An ``id`` that exists gives its task and starts nothing; raises TaskConflict if its arguments differ. With
        ``transaction`` the task exists only if that commits: one of ``client.transaction()``, or on PostgreSQL an open
        connection or session of asyncpg, psycopg 3, SQLAlchemy 2 or Django on the store's database. With ``per_key``, a
        ``Singleton``, ``Debounce``, ``Throttle`` or ``Collect``, the handle may be of a task that was there.
        """
        options = Options(
            id=id,
            priority=priority,
            complete_by=complete_by,
            delay=delay,
            reply_to=reply_to,
            labels=labels,
            attributes=attributes,
            fairness_key=fairness_key,
            per_key=per_key,
        )
        submission_checks.usable("client.submit()", self._session.missing)
        with producing(f"submit {submission_checks.workflow_name(workflow)}") if API in modules else UNTRACED:
            prepared = await self._session.submissions.prepared(workflow, args, kwargs, options)
            submitted = await self._session.submissions.write(prepared, transaction, self._session.actor)
            return handles(self._session, submitted, prepared.known)[0]

    @overload
    async def submit_many(
        self,
        workflow: Callable[[Unpack[Ts]], ChildCall[R]],
        arguments: Sequence[tuple[*Ts]],
        *,
        ids: Sequence[submission_checks.Id] | None = None,
        transaction: object = None,
        per_key: KeyRule | None = None,
        **options: Unpack[SubmitOptions],
    ) -> list[TaskHandle[R]]: ...
    @overload
    async def submit_many(
        self,
        workflow: str,
        arguments: Sequence[Sequence[Any]],
        *,
        ids: Sequence[submission_checks.Id] | None = None,
        transaction: object = None,
        per_key: KeyRule | None = None,
        **options: Unpack[SubmitOptions],
    ) -> list[TaskHandle]: ...
    async def submit_many(
        self,
        workflow: Any,
        arguments: Sequence[Any],
        *,
        ids: Sequence[submission_checks.Id] | None = None,
        transaction: object = None,
        per_key: KeyRule | None = None,
        **options: Unpack[SubmitOptions],
    ) -> list[TaskHandle[Any]]:
        """Submit a task for each tuple of arguments; nothing if one of them does not fit, or its id is another task's.

        With ``ids`` all are one transaction, without it 10,000 rows are. They follow ``per_key`` one after the other.
        """
        submission_checks.usable("client.submit_many()", self._session.missing)
        with producing(f"submit {submission_checks.workflow_name(workflow)}") if API in modules else UNTRACED:
            writer, actor = self._session.submissions, self._session.actor
            checked = replace(options_of("submit_many()", options), per_key=per_key)
            prepared = await writer.prepared_many(workflow, arguments, ids, checked)
            submitted = await writer.write_many(prepared, transaction, actor, at_once=ids is not None)
            return handles(self._session, submitted, prepared.known)
