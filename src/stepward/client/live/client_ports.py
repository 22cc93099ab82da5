"""The parts of a client that handles use."""

from __future__ import annotations

from typing import Protocol

from stepward.client.submitting.forks import ForkOptions
from stepward.client.submitting.submission_checks import Id
from stepward.client.waiting.task_endings import StoreChanges
from stepward.model.pipeline_plan import Plan
from stepward.model.records import Task
from stepward.model.states import TaskState
from stepward.store.contract import Directive, Store, Submitted, UpdateRow


class ValuesClient(Protocol):
    """What reading values needs of a client."""

    @property
    def store(self) -> Store:
        """The store."""
        ...

    async def record(self, id: str) -> Task:
        """The task's record. Raises TaskNotFound."""
        ...

    def changes(self) -> StoreChanges:
        """Waits for changes of the store."""
        ...


class UpdatesClient(ValuesClient, Protocol):
    """What asking for updates needs of a client."""

    @property
    def limit(self) -> int:
        """The payload limit in bytes."""
        ...

    async def ask_update(self, id: str, update: str, name: str, body: bytes, by: str | None) -> UpdateRow:
        """Ask a task for an update."""
        ...

    def new_uid(self) -> str:
        """A new unique id."""
        ...


class HandleClient(UpdatesClient, Protocol):
    """What a handle needs of its client."""

    @property
    def actor(self) -> str:
        """The actor in the audit."""
        ...

    async def plan(self, workflow: str, version: str) -> Plan | None:
        """The plan of a pipeline; None for workflow code."""
        ...

    async def wait_for_end(self, uid: str) -> Task:
        """The task once it has ended."""
        ...

    async def fork(self, id: str, options: ForkOptions) -> Submitted:
        """Start a new task from the record of an ended one."""
        ...

    async def direct(self, id: str, directive: Directive) -> TaskState:
        """Carry out a directive."""
        ...

    async def signal(self, id: str, name: str, body: bytes, signal_id: Id | None, by: str | None = None) -> bool:
        """Put a signal into the task's inbox; the audit names ``by``."""
        ...
