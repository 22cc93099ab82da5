"""The client that routes are handed: what is out of a principal's scope does not exist, and payloads may be hidden.

Routes and pages have no other way to the store, so that none of them can forget to look.
"""

from __future__ import annotations

from msgspec import Struct

from stepward.client import Client, ClientSession, StepRecord, TaskHandle, TaskStatus, client_on, session_of
from stepward.errors import TaskNotFound
from stepward.http.access.hiding import hidden_status, hidden_step
from stepward.http.access.principals import Principal
from stepward.http.problems import HttpRefusal
from stepward.model.records import Task
from stepward.model.states import TaskState
from stepward.payload import readable

SCANNED = 1_000
"""Tasks that are read at once for a principal whose scope leaves most of them out."""


class FoundTask(Struct, frozen=True):
    """A task that exists for the principal."""

    record: Task
    handle: TaskHandle


class ScopedClient:
    """A client in the name of a principal."""

    def __init__(self, client: Client, principal: Principal) -> None:
        self._session: ClientSession = session_of(client).acting_as(principal.name)
        self._client = client_on(self._session)
        self.principal = principal

    @property
    def unscoped(self) -> Client:
        """The client itself, acting in the principal's name; only for one without a scope. Raises HttpRefusal."""
        if not self.principal.scope.is_everything:
            raise HttpRefusal(403, f"expected a principal without a scope, found {self.principal.name} with one")
        return self._client

    def now(self) -> float:
        """The store's clock."""
        return self._session.store.now()

    async def find(self, id: str) -> FoundTask:
        """The task of that id. Raises TaskNotFound, for one out of scope too."""
        record = await self._session.record(id)
        if not self._may_see(record):
            raise TaskNotFound(f"task {id[:200]!r}: expected an id that was submitted, found none such")
        return FoundTask(record, self._client.task(id))

    async def status(self, id: str) -> TaskStatus:
        """Where the task stands. Raises TaskNotFound."""
        found = await self.find(id)
        status = await found.handle.status()
        return status if self.principal.payloads else hidden_status(status)

    async def steps(self, id: str) -> list[StepRecord]:
        """The task's steps in order. Raises TaskNotFound."""
        found = await self.find(id)
        steps = await found.handle.steps()
        return steps if self.principal.payloads else [hidden_step(step) for step in steps]

    async def tasks(
        self,
        *,
        state: TaskState | None = None,
        workflow: str | None = None,
        label: tuple[str, str] | None = None,
        limit: int = 100,
    ) -> list[TaskStatus]:
        """Tasks in scope, newest first."""
        scope = self.principal.scope
        wanted = limit if scope.is_everything else max(limit, SCANNED)
        found = await self._client.tasks(state=state, workflow=workflow, label=label, limit=wanted)
        seen = [task for task in found if scope.has(task.workflow, task.labels)][:limit]
        return seen if self.principal.payloads else [hidden_status(task) for task in seen]

    def _may_see(self, record: Task) -> bool:
        labels = readable(record.labels)
        return self.principal.scope.has(record.workflow, labels if isinstance(labels, dict) else {})
