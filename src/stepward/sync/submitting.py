"""The part of the blocking client that submits tasks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, ParamSpec, TypeVarTuple, Unpack, overload

from msgspec.structs import asdict, replace

from stepward.client import Options, Prepared, session_of
from stepward.client.handle import R, handles
from stepward.client.submitting.known_options import options_of
from stepward.client.submitting.submission_checks import Id
from stepward.client.submitting.submissions import SubmissionWriter
from stepward.durations import Duration
from stepward.model.tasks.attributes import AttributeValue
from stepward.model.tasks.key_rules import KeyRule
from stepward.model.tasks.submit_options import SubmitOptions, TaskOptions
from stepward.sync.connection import SyncConnection
from stepward.sync.handle import SyncTaskHandle
from stepward.sync.transaction import inner_of, is_borrowed
from stepward.workflow.definition import ChildCall, Workflow

P = ParamSpec("P")
Ts = TypeVarTuple("Ts")


class SyncSubmittingClient(SyncConnection):
    """What ``SyncClient`` inherits to submit tasks."""

    @overload
    def submit(
        self,
        workflow: Callable[[Unpack[Ts]], ChildCall[R]],
        *args: *Ts,
        **options: Unpack[TaskOptions],
    ) -> SyncTaskHandle[R]: ...
    @overload
    def submit(self, workflow: Workflow[P, R], *args: P.args, **kwargs: P.kwargs) -> SyncTaskHandle[R]: ...
    @overload
    def submit(self, workflow: str, *args: Any, **kwargs: Any) -> SyncTaskHandle: ...
    def submit(  # type: ignore[misc]  # the options of the first are listed one by one
        self,
        workflow: Any,
        *args: Any,
        id: Id | None = None,
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
    ) -> SyncTaskHandle[Any]:
        """Submit a task; its handle. An application's own ``transaction`` is a blocking one, used in this thread."""
        client = self._open_client
        options = Options(id=id, priority=priority, complete_by=complete_by, delay=delay, reply_to=reply_to)
        options = replace(options, labels=labels, attributes=attributes, fairness_key=fairness_key, per_key=per_key)
        if is_borrowed(transaction):
            preparing = self._submissions.prepared(workflow, args, kwargs, options)
            return self._submit_borrowed(transaction, self._thread.call(preparing))[0]
        inner = inner_of(transaction)
        submitting = client.submit(workflow, *args, transaction=inner, **asdict(options), **kwargs)
        return SyncTaskHandle(self._thread, self._thread.call(submitting))

    @overload
    def submit_many(
        self,
        workflow: Callable[[Unpack[Ts]], ChildCall[R]],
        arguments: Sequence[tuple[*Ts]],
        *,
        ids: Sequence[Id] | None = None,
        transaction: object = None,
        per_key: KeyRule | None = None,
        **options: Unpack[SubmitOptions],
    ) -> list[SyncTaskHandle[R]]: ...
    @overload
    def submit_many(
        self,
        workflow: str,
        arguments: Sequence[Sequence[Any]],
        *,
        ids: Sequence[Id] | None = None,
        transaction: object = None,
        per_key: KeyRule | None = None,
        **options: Unpack[SubmitOptions],
    ) -> list[SyncTaskHandle]: ...
    def submit_many(
        self,
        workflow: Any,
        arguments: Sequence[Any],
        *,
        ids: Sequence[Id] | None = None,
        transaction: object = None,
        per_key: KeyRule | None = None,
        **options: Unpack[SubmitOptions],
    ) -> list[SyncTaskHandle[Any]]:
        """Submit tasks of one workflow, all or none; their handles in order. ``transaction`` is that of ``submit``."""
        client = self._open_client
        if is_borrowed(transaction):
            checked = replace(options_of("submit_many()", options), per_key=per_key)
            preparing = self._submissions.prepared_many(workflow, arguments, ids, checked)
            return self._submit_borrowed(transaction, self._thread.call(preparing))
        inner = inner_of(transaction)
        submitting = client.submit_many(workflow, arguments, ids=ids, transaction=inner, per_key=per_key, **options)
        return [SyncTaskHandle(self._thread, handle) for handle in self._thread.call(submitting)]

    def _submit_borrowed(self, transaction: object, prepared: Prepared) -> list[SyncTaskHandle[Any]]:
        submissions = self._submissions
        prepared = self._thread.call(submissions.outside(prepared))
        submitted = submissions.write_blocking(submissions.external(transaction), prepared, self._thread.call)
        found = handles(session_of(self._client), submitted, prepared.known)
        return [SyncTaskHandle(self._thread, handle) for handle in found]

    @property
    def _submissions(self) -> SubmissionWriter:
        session = session_of(self._open_client)
        session.check("client.submit()")
        return session.submissions
