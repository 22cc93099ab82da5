"""The client that routes receive: tasks out of the principal's scope are not found, and payloads may be hidden.

Routes and pages have no other access to the store, so no route can omit the check.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from stepward.client import Client, ClientSession, StepRecord, TaskHandle, TaskStatus, client_on, session_of
from stepward.client.step_completions import UNREADABLE
from stepward.client.submitting import act_arguments
from stepward.client.task_pages import NEWEST, condition_of, search_of
from stepward.errors import CompletionRefused, TaskNotFound
from stepward.events import Hints
from stepward.http.access.access_audit import AccessAudit
from stepward.http.access.principals import Principal
from stepward.http.access.scopes.key_rule_access import check_key_rule
from stepward.http.access.scopes.payload_hiding import (
    hidden_alert,
    hidden_audit,
    hidden_schedule,
    hidden_status,
    hidden_step,
)
from stepward.http.access.scopes.scoped_batches import ScopedBatches
from stepward.http.access.two_person import TwoPersonRule
from stepward.http.exception_handlers import HttpRefusal
from stepward.model.messages.completion_tokens import KEY_BYTES, read_token
from stepward.model.records import Alert, Audit, DeadLetter, Task
from stepward.model.schedule import Schedule
from stepward.model.states import TaskState
from stepward.payload import readable
from stepward.store.contract import ChangedTasks, ChangesPlace, LiveValue, StreamValue
from stepward.store.rules.batches import in_scope
from stepward.store.rules.refusals import id_taken
from stepward.store.search.conditions import both


class FoundTask(Struct, frozen=True):
    """A task within the principal's scope, with its payloads: the caller checks ``principal.payloads`` before it
    shows them."""

    record: Task
    handle: TaskHandle
    client: Client


class FoundPage(Struct, frozen=True):
    """Tasks, newest first, and the cursor of the next page; None on the last page."""

    tasks: list[TaskStatus]
    cursor: str | None


class ScopedClient:
    """A client that acts in the name of a principal."""

    def __init__(
        self, client: Client, principal: Principal, audit: AccessAudit, *, needs_two_persons: bool = False
    ) -> None:
        acting = session_of(client).acting_as(principal.name)
        self.two_persons = TwoPersonRule(acting, principal) if needs_two_persons else None
        """The rule that dangerous acts need a second person; None where it is off."""
        self._session: ClientSession = acting if self.two_persons is None else acting.guarded_by(self.two_persons.check)
        self._client = client_on(self._session)
        self._audit = audit
        self.principal = principal

    @property
    def unscoped(self) -> Client:
        """The client itself, acting in the principal's name. Raises HttpRefusal (403) for a principal with a scope."""
        if not self.principal.scope.is_everything:
            raise HttpRefusal(403, f"expected a principal without a scope, found {self.principal.name} with one")
        return self._client

    @property
    def app(self) -> str:
        """The application's name."""
        return self._session.app

    @property
    def hints(self) -> Hints:
        """Registers a callback for when the store may have changed."""
        return self._session.hints

    @property
    def owns_store(self) -> bool:
        """Whether the client has a store connection of its own, and not that of the actors of this process."""
        return self._session.owns_store

    def now(self) -> float:
        """The store's clock."""
        return self._session.store.now()

    def new_id(self) -> str:
        """A new unique id."""
        return self._session.new_uid()

    async def find(self, id: str) -> FoundTask:
        """The task with that id. Raises TaskNotFound, with the same message for a task out of scope."""
        record = await self._session.record(id)
        if not self.sees(record):
            await self._audit.refused(self.principal.name, reason="scope", task=record.uid)
            raise TaskNotFound(f"task {id[:200]!r}: expected an id that was submitted, found none such")
        return FoundTask(record, self._client.task(id), self._client)

    def acting(self, found: FoundTask, *, reason: str | None = None, expected: Sequence[str] = ()) -> TaskHandle:
        """A handle whose acts give ``reason``, and raise TaskChanged unless the task has an expected version."""
        session = self._session.acting_as(self.principal.name, reason=reason, expected=expected)
        return client_on(session).task(found.record.id)

    def sees(self, record: Task) -> bool:
        """Whether the task is within the principal's scope."""
        labels = readable(record.labels)
        return self.principal.scope.has(record.workflow, labels if isinstance(labels, dict) else {})

    async def status(self, id: str) -> TaskStatus:
        """The task's status. Raises TaskNotFound."""
        found = await self.find(id)
        status = await found.handle.status()
        if status.error is not None:
            await self.note_payloads(found.record)
        return status if self.principal.payloads else hidden_status(status)

    async def record_and_status(self, id: str) -> tuple[Task, TaskStatus]:
        """The task's record with all its payloads, and the status at that record. Raises TaskNotFound."""
        record = (await self.find(id)).record
        await self.note_payloads(record)
        (status,) = await self._session.statuses([record])
        return record, status if self.principal.payloads else hidden_status(status)

    async def steps(self, id: str) -> list[StepRecord]:
        """The task's steps in order. Raises TaskNotFound."""
        found = await self.find(id)
        await self.note_payloads(found.record)
        steps = await found.handle.steps()
        return steps if self.principal.payloads else [hidden_step(step) for step in steps]

    async def tasks(
        self,
        *,
        state: TaskState | None = None,
        workflow: str | None = None,
        label: tuple[str, str] | None = None,
        where: str | None = None,
        limit: int = 100,
        cursor: str | None = None,
    ) -> FoundPage:
        """Tasks in scope, newest first; a page may have fewer than ``limit`` before the end. Raises InvalidFilter."""
        condition = condition_of(where, state, workflow, label, self._session.store.now())
        scope = self.principal.scope
        scoped = both(condition, in_scope(scope.workflows, dict(scope.labels)))
        found = await self._session.page(search_of(scoped, NEWEST, cursor, limit))
        await self._note_list("tasks", [task for task in found if task.error is not None])
        return FoundPage(found if self.principal.payloads else [hidden_status(task) for task in found], found.cursor)

    async def live_values(self, id: str) -> list[LiveValue]:
        """The values that a task has published, by name. Raises TaskNotFound."""
        record = (await self.find(id)).record
        await self.note_payloads(record)
        return await self._session.store.client.live_values(record.uid)

    async def streams(self, id: str) -> dict[str, int]:
        """The number of values of each stream of a task. Raises TaskNotFound."""
        return await self._session.store.client.streams((await self.find(id)).record.uid)

    async def stream_values(self, id: str, name: str, start: int) -> list[StreamValue]:
        """A page of a stream from a position on. Raises TaskNotFound."""
        record = (await self.find(id)).record
        await self.note_payloads(record)
        return await self._session.store.client.stream_values(record.uid, name, start)

    async def changes(self, after: ChangesPlace | None, also: Sequence[str] = ()) -> ChangedTasks:
        """Lists tasks in scope that have changed since, and those of the uids ``also``, without their payloads."""
        found = await self._session.store.operators.changes(after, also)
        return replace(found, tasks=[task for task in found.tasks if self.sees(task)])

    async def statuses(self, tasks: Sequence[Task]) -> list[TaskStatus]:
        """The status of each of these tasks, which this client found."""
        found = await self._session.statuses(tasks)
        return found if self.principal.payloads else [hidden_status(status) for status in found]

    @property
    def batches(self) -> ScopedBatches:
        """Acts on every task in scope that a filter finds."""
        return ScopedBatches(self._session, self.principal, self._audit, needs_two_persons=self.two_persons is not None)

    async def submit(self, workflow: str, arguments: list[Any], keywords: Mapping[str, Any], **options: Any) -> str:
        """Submits a task that will be in scope, and returns its id.

        Raises HttpRefusal (403), and TaskConflict for the id of a task out of scope, whatever its arguments are.
        """
        if not self.principal.scope.has(workflow, options.get("labels") or {}):
            raise HttpRefusal(403, "workflow, labels: expected a task within the principal's scope, found one outside")
        check_key_rule(self.principal, options.get("per_key"), has_two_persons=self.two_persons is not None)
        handle: TaskHandle[Any] = await self._client.submit(workflow, *arguments, **options, **keywords)
        try:
            found = await self.find(handle.id)
        except TaskNotFound:
            raise id_taken(handle.id) from None
        await self._audit.acted(self.principal, "submit", task=found.record.uid)
        return handle.id

    async def complete(self, token: str, result: Any) -> None:
        """Finishes a step by its completion token. Raises CompletionRefused."""
        await self._check_token(token)
        await self._client.complete(token, result, by=self.principal.name)

    async def fail(self, token: str, message: str, data: Mapping[str, Any]) -> None:
        """Finishes a step as failed for good, by its completion token. Raises CompletionRefused."""
        await self._check_token(token)
        await self._client.fail(token, message, by=self.principal.name, **data)

    async def alerts(self, *, limit: int = 100, open_only: bool = True, id: str | None = None) -> list[Alert]:
        """Alerts of one task, or else of tasks in scope, newest first; without a scope also those of no task."""
        if id is not None:
            await self.find(id)
        if id is not None or self.principal.scope.is_everything:
            shown = await self._client.alerts(limit, open_only, id=id)
        else:
            shown = await self._alerts_in_scope(limit, open_only)
        await self._note_list("alerts", shown)
        return shown if self.principal.payloads else [hidden_alert(alert) for alert in shown]

    async def acknowledge(self, number: int) -> bool:
        """Acknowledges an alert; False if no open alert in scope has that number."""
        is_scoped = not self.principal.scope.is_everything
        if is_scoped and not await self._alerts_in_scope(1, True, number):
            return False
        return await self._client.acknowledge(number)

    async def give_reason(self, act: str, subject: object, reason: str | None) -> None:
        """Records the reason, if one was given, of an act that the principal has carried out."""
        if reason is not None:
            await self._audit.reasoned(self.principal, act, str(subject), act_arguments.reason(reason) or "")

    async def audits(self, id: str, limit: int) -> list[Audit]:
        """The audit of a task, newest first. Raises TaskNotFound."""
        found = await self.find(id)
        await self.note_payloads(found.record)
        acts = await self._client.audits(id, limit)
        return acts if self.principal.payloads else [hidden_audit(act) for act in acts]

    async def all_audits(self, limit: int) -> list[Audit]:
        """The audit of all tasks, newest first. Raises HttpRefusal for a principal with a scope."""
        acts = await self.unscoped.audits(limit=limit)
        await self._note_list("audit", acts)
        return acts if self.principal.payloads else [hidden_audit(act) for act in acts]

    async def dead_letters(self, limit: int) -> list[DeadLetter]:
        """Messages that were set aside, with what they say, newest first. Raises HttpRefusal for one with a scope."""
        letters = await self.unscoped.dead_letters(limit)
        await self._note_list("dead letters", letters)
        return letters

    async def schedules(self) -> list[Schedule]:
        """The schedules in scope, by name; their tasks have no labels."""
        found = [
            schedule for schedule in await self._client.schedules() if self.principal.scope.has(schedule.workflow, {})
        ]
        await self._note_list("schedules", found)
        return found if self.principal.payloads else [hidden_schedule(schedule) for schedule in found]

    async def _alerts_in_scope(self, limit: int, open_only: bool, number: int | None = None) -> list[Alert]:
        scope = self.principal.scope
        condition = in_scope(scope.workflows, dict(scope.labels))
        return await self._session.store.operators.alerts_of(condition, limit, open_only, number)

    async def _of_uids(self, uids: list[str]) -> list[Task]:
        found: list[Task] = []
        while page := await self._session.store.supervisor.outlived_tasks(uids, found[-1].uid if found else ""):
            found += page
        return found

    async def _check_token(self, token: str) -> None:
        """Raises CompletionRefused for the token of a task out of scope, as for an invalid token."""
        if self.principal.scope.is_everything:
            return
        key = await self._session.store.client.completion_key(secrets.token_bytes(KEY_BYTES))
        read = read_token(token, key)
        tasks = [] if read is None or not read.is_genuine else await self._of_uids([read.claim.task])
        if not any(self.sees(task) for task in tasks):
            raise CompletionRefused(UNREADABLE.message, reason=UNREADABLE.reason)

    async def note_payloads(self, record: Task) -> None:
        """Records in the audit that the principal sees payloads of the task."""
        if self.principal.payloads:
            await self._audit.read_payloads(self.principal, record.uid)

    async def _note_list(self, listed: str, found: Sequence[object]) -> None:
        if self.principal.payloads and found:
            await self._audit.read_list(self.principal, listed)
