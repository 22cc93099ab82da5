"""The client for code without an event loop."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from stepward.client import UNSET, AgentStatus, LimitStatus, Page
from stepward.client.batches.batches import RATE
from stepward.client.limits import GivenRate
from stepward.client.live.live_values import Unset
from stepward.client.submitting.submission_checks import Id
from stepward.errors import Refused
from stepward.model.agent_stats import AgentStats
from stepward.model.messages.webhook_retries import Webhook
from stepward.model.records import Alert, Audit, DeadLetter, Instance
from stepward.model.states import TaskState
from stepward.store.contract import Batch, TaskCount
from stepward.store.transaction_scopes import NESTED
from stepward.sync.alert_sinks import SyncAlertSinks
from stepward.sync.batches import SyncBatches
from stepward.sync.handle import SyncTaskHandle
from stepward.sync.queues import SyncEvents
from stepward.sync.scheduling import SyncSchedulingClient
from stepward.sync.submitting import SyncSubmittingClient
from stepward.sync.transaction import SyncTransaction

_WITHIN: ContextVar[tuple[SyncClient, ...]] = ContextVar("stepward_sync_transactions", default=())
"""The open transactions of this client, by thread."""


class SyncClient(SyncSubmittingClient, SyncSchedulingClient):
    """``Client`` for code without an event loop; use it as ``with app.sync_client() as client``.

    Every method has the arguments and the result of the method of that name of ``Client``.
    """

    @contextmanager
    def transaction(self) -> Iterator[SyncTransaction]:
        """A connection of the store in which application rows and tasks commit together; an exception rolls back."""
        around = _WITHIN.get()
        if self in around:
            raise Refused(NESTED)
        entering = self._open_client.transaction()
        transaction = SyncTransaction(self._thread, self._thread.call(entering.__aenter__()))
        _WITHIN.set((*around, self))
        try:
            yield transaction
        except BaseException as error:
            if not self._thread.call(entering.__aexit__(type(error), error, error.__traceback__)):
                raise
        else:
            self._thread.call(entering.__aexit__(None, None, None))
        finally:
            _WITHIN.set(around)

    def events(self, queue: str) -> SyncEvents:
        """Status events of the private response queue ``queue``, in order per task, from where its reader stopped.

        The queue has one reader at a time; an event counts as processed once the next one is requested.
        """
        return SyncEvents(self._thread, self._open_client.events(queue))

    def task(self, id: Id) -> SyncTaskHandle:
        """A handle on the task of that id; a missing task shows when the handle is used."""
        return SyncTaskHandle(self._thread, self._open_client.task(id))

    def tasks(
        self,
        state: TaskState | str | None = None,
        workflow: str | None = None,
        label: tuple[str, str] | None = None,
        limit: int = 100,
        *,
        where: str | None = None,
        order: str = "newest",
        cursor: str | None = None,
    ) -> Page:
        """A page of the tasks that fulfil the filter ``where`` and the keywords, the newest or the oldest first."""
        asking = self._open_client.tasks(state, workflow, label, limit, where=where, order=order, cursor=cursor)
        return self._thread.call(asking)

    def count(
        self,
        state: TaskState | str | None = None,
        workflow: str | None = None,
        label: tuple[str, str] | None = None,
        *,
        where: str | None = None,
    ) -> TaskCount:
        """How many tasks fulfil the filter ``where`` and the keywords: exact under 10,000, else mostly an estimate."""
        return self._thread.call(self._open_client.count(state, workflow, label, where=where))

    def alerts(self, limit: int = 100, open_only: bool = True, *, id: Id | None = None) -> list[Alert]:
        """The alerts of a task, or all, newest first."""
        return self._thread.call(self._open_client.alerts(limit, open_only, id=id))

    def acknowledge(self, number: int) -> bool:
        """Acknowledge an alert."""
        return self._thread.call(self._open_client.acknowledge(number))

    def dead_letters(self, limit: int = 100) -> list[DeadLetter]:
        """Dead letters, newest first."""
        return self._thread.call(self._open_client.dead_letters(limit))

    def put_back(self, *numbers: int) -> list[int]:
        """Put dead letters back into their queues, as new; the numbers of those that existed."""
        return self._thread.call(self._open_client.put_back(*numbers))

    def discard(self, *numbers: int) -> list[int]:
        """Discard dead letters; the numbers of those that existed."""
        return self._thread.call(self._open_client.discard(*numbers))

    def webhooks(self) -> list[Webhook]:
        """The webhooks that get status events, by name, and how each fares."""
        return self._thread.call(self._open_client.webhooks())

    def enable_webhook(self, name: str) -> bool:
        """Have a disabled webhook get events again; False if it is enabled."""
        return self._thread.call(self._open_client.enable_webhook(name))

    def disable_webhook(self, name: str) -> bool:
        """Have a webhook get nothing until it is enabled; False if it is disabled."""
        return self._thread.call(self._open_client.disable_webhook(name))

    def audits(self, id: Id | None = None, limit: int = 100) -> list[Audit]:
        """The audit of a task, or of all, newest first."""
        return self._thread.call(self._open_client.audits(id, limit))

    def delete(self, where: str, *, rate: float = RATE, reason: str | None = None) -> Batch:
        """Delete the ended tasks that the filter finds, by a batch."""
        return self._thread.call(self._open_client.delete(where, rate=rate, reason=reason))

    @property
    def alert_sinks(self) -> SyncAlertSinks:
        """The sinks of alerts, what they took, and tests of one."""
        return SyncAlertSinks(self._thread, self._open_client.alert_sinks)

    @property
    def batches(self) -> SyncBatches:
        """Acts on every task that a filter finds."""
        return SyncBatches(self._thread, self._open_client.batches)

    def complete(self, token: str, result: Any = None, *, by: str | None = None) -> None:
        """Complete a step from outside with that result; the audit records ``by``. Raises CompletionRefused."""
        self._thread.call(self._open_client.complete(token, result, by=by))

    def fail(self, token: str, message: str, *, by: str | None = None, **data: Any) -> None:
        """Fail a step from outside, for good; the workflow gets a StepFailed. Raises CompletionRefused."""
        self._thread.call(self._open_client.fail(token, message, by=by, **data))

    def instances(self) -> list[Instance]:
        """The live actors, and those that died within the hour."""
        return self._thread.call(self._open_client.instances())

    def drain_instance(self, id: str) -> bool:
        """Have the process of an instance end in good order; False if it was asked to. Raises InstanceNotFound."""
        return self._thread.call(self._open_client.drain_instance(id))

    def agents(self) -> list[AgentStatus]:
        """The Agents that are served, or that steps wait for, by name."""
        return self._thread.call(self._open_client.agents())

    def agent_stats(self) -> list[AgentStats]:
        """How attempts at each Agent ended and how long they took, in the newest 1,000 tasks of the last hour."""
        return self._thread.call(self._open_client.agent_stats())

    def suspend_agent(self, name: str, note: str | None = None) -> bool:
        """Suspend that Agent; False if it is suspended already. Raises AgentNotFound."""
        return self._thread.call(self._open_client.suspend_agent(name, note))

    def resume_agent(self, name: str) -> bool:
        """Resume a suspended Agent, step by step; False if it is not suspended. Raises AgentNotFound."""
        return self._thread.call(self._open_client.resume_agent(name))

    def limits(self) -> list[LimitStatus]:
        """The limits, by name, with what runs under each."""
        return self._thread.call(self._open_client.limits())

    def set_limit(
        self, name: str, concurrency: int | Unset | None = UNSET, rate: GivenRate = UNSET, *, note: str | None = None
    ) -> None:
        """Set a limit in place of what code declares, None for no bound; what is not given stays as it is."""
        self._thread.call(self._open_client.set_limit(name, concurrency, rate, note=note))

    def reset_limit(self, name: str) -> bool:
        """Let what code declares hold again; False if nothing was set. Raises Refused, and AgentNotFound."""
        return self._thread.call(self._open_client.reset_limit(name))
