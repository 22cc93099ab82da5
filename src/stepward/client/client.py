"""The client: submits tasks and gives handles on them, with or without the application's code."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from stepward.client import agent_acts, limits
from stepward.client.agent_status import AgentStatus, stats, statuses
from stepward.client.alert_sinks import AlertSinks
from stepward.client.batches.batches import RATE, Batches
from stepward.client.handle import TaskHandle
from stepward.client.limits import GivenRate, LimitStatus
from stepward.client.live.live_values import UNSET, Unset
from stepward.client.queues.events import StatusEvents
from stepward.client.scheduling.scheduling_client import SchedulingClient
from stepward.client.session import ClientSession, Protection, session_at
from stepward.client.submitting import act_arguments, submission_checks
from stepward.client.submitting.submitting_client import SubmittingClient
from stepward.client.task_pages import Page, condition_of, search_of
from stepward.encryption import Encryption
from stepward.large_payloads import LargePayloads
from stepward.model.agent_stats import AgentStats
from stepward.model.messages.webhook_retries import Webhook
from stepward.model.records import Alert, Audit, DeadLetter, Instance
from stepward.model.states import TaskState
from stepward.model.tasks.control_characters import sought
from stepward.payload import PAYLOAD_BYTES
from stepward.store.contract import Batch, TaskCount, Transaction


class Client(SubmittingClient, SchedulingClient):
    """A connection to an application's state store; use it as ``async with Client(address, app=name)``.

    ``store`` is an address, or the addresses of all stores in order. With ``transport``, a broker's address, response
    queues are read from there. ``encryption`` has the keys of a store whose payloads are encrypted; ``large_payloads``
    says where an application keeps its large ones.
    """

    def __init__(
        self,
        store: str | Sequence[str],
        *,
        app: str,
        transport: str | None = None,
        payload_bytes: int = PAYLOAD_BYTES,
        encryption: Encryption | None = None,
        large_payloads: LargePayloads | None = None,
    ) -> None:
        self._session = session_at(store, app, transport, payload_bytes, Protection(app, encryption, large_payloads))

    async def __aenter__(self) -> Client:
        await self._session.open()
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self._session.close()

    def events(self, queue: str) -> StatusEvents:
        """What tasks tell the private response queue ``queue``, in order per task, from where its reader left off.

        The queue has one reader at a time; an event counts as dealt with once the next one is asked for.
        """
        submission_checks.usable("client.events()", self._session.missing)
        return self._session.readers.open(submission_checks.own_queue(queue, self._session.app))

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Transaction]:
        """A connection of ours in which application rows and tasks commit together; an exception rolls back."""
        submission_checks.usable("client.transaction()", self._session.missing)
        async with self._session.store.client.transaction() as transaction:
            yield transaction
        self._session.hints.hint()

    def task(self, id: submission_checks.Id) -> TaskHandle:
        """A handle on the task of that id; whether there is one shows when it is used."""
        return TaskHandle(self._session, submission_checks.known_id(id))

    async def tasks(
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
        """A page of the tasks that the filter finds, after that of the ``cursor``. Raises InvalidFilter."""
        condition = condition_of(where, state, workflow, label, self._session.store.now())
        return await self._session.page(search_of(condition, order, cursor, limit))

    async def count(
        self,
        state: TaskState | str | None = None,
        workflow: str | None = None,
        label: tuple[str, str] | None = None,
        *,
        where: str | None = None,
    ) -> TaskCount:
        """How many tasks fulfil the filter ``where`` and the keywords: exact under 10,000, else mostly an estimate."""
        condition = condition_of(where, state, workflow, label, self._session.store.now())
        return await self._session.store.operators.count(condition)

    async def delete(self, where: str, *, rate: float = RATE, reason: str | None = None) -> Batch:
        """Delete the ended tasks that the filter finds, by a batch, with what the store keeps about them elsewhere."""
        return await self.batches.start(await self.batches.preview("delete", where), rate=rate, reason=reason)

    @property
    def batches(self) -> Batches:
        """Acts on every task that a filter finds."""
        return Batches(self._session)

    @property
    def alert_sinks(self) -> AlertSinks:
        """The sinks of alerts, what they took, and tests of one."""
        return AlertSinks(self._session)

    async def alerts(
        self, limit: int = 100, open_only: bool = True, *, id: submission_checks.Id | None = None
    ) -> list[Alert]:
        """The alerts of a task, or all, newest first."""
        operators, most = self._session.store.operators, act_arguments.listed(limit, "ask for the alerts of a task")
        if id is None:
            return await operators.alerts(most, open_only)
        return await operators.task_alerts(submission_checks.known_id(id), most, open_only)

    async def acknowledge(self, number: int) -> bool:
        """Mark an alert as seen."""
        return await self._session.store.operators.acknowledge(number, self._session.actor)

    async def dead_letters(self, limit: int = 100) -> list[DeadLetter]:
        """The dead letters, newest first."""
        most = act_arguments.listed(limit, "put back or discard the newest first")
        return await self._session.store.operators.dead_letters(most)

    async def put_back(self, *numbers: int) -> list[int]:
        """Put dead letters back into their queues, as new; the numbers of those that were there."""
        found = await self._session.store.operators.put_back(numbers, self._session.actor)
        self._session.hints.hint()
        return found

    async def discard(self, *numbers: int) -> list[int]:
        """Throw dead letters away; the numbers of those that were there."""
        return await self._session.store.operators.discard(numbers, self._session.actor)

    async def webhooks(self) -> list[Webhook]:
        """The webhooks that get status events, by name, and how each fares; none before a Supervisor has led."""
        return await self._session.store.operators.webhooks()

    async def enable_webhook(self, name: str) -> bool:
        """Have a disabled webhook get events again, first those that wait; False if it is enabled."""
        return await self._session.store.operators.enable_webhook(sought(name), self._session.actor)

    async def disable_webhook(self, name: str) -> bool:
        """Have a webhook get nothing until it is enabled; its events wait, seven days each. False if it is disabled."""
        return await self._session.store.operators.disable_webhook(sought(name), self._session.actor)

    async def instances(self) -> list[Instance]:
        """The live actors, and those that died within the hour."""
        return await self._session.store.operators.instances()

    async def drain_instance(self, id: str) -> bool:
        """Have the process of an instance end in good order; False if it was asked to. Raises InstanceNotFound."""
        return await agent_acts.drain(self._session, id)

    async def agents(self) -> list[AgentStatus]:
        """The Agents that are served, or that steps wait for, by name."""
        operators = self._session.store.operators
        return statuses(await operators.instances(), await operators.standings(), operators.now())

    async def agent_stats(self) -> list[AgentStats]:
        """How attempts at each Agent ended and how long they took, in the newest 1,000 tasks of the last hour."""
        return await stats(self._session.store.operators)

    async def suspend_agent(self, name: str, note: str | None = None) -> bool:
        """Ask nothing more of that Agent; what is under way ends. False if suspended already. Raises AgentNotFound."""
        return await agent_acts.suspend(self._session, name, note)

    async def resume_agent(self, name: str) -> bool:
        """Ask a suspended Agent again, a little more each moment; False if it is at work. Raises AgentNotFound."""
        return await agent_acts.resume(self._session, name)

    async def limits(self) -> list[LimitStatus]:
        """The limits, by name, with what runs under each."""
        return await limits.limits(self._session)

    async def set_limit(
        self, name: str, concurrency: int | Unset | None = UNSET, rate: GivenRate = UNSET, *, note: str | None = None
    ) -> None:
        """Set the limit ``agent:NAME`` or ``workflow:NAME``, None for no bound; what is not given stays.

        ``rate``: how many calls or tasks start within a time. Raises Refused, AgentNotFound, UnknownWorkflow.
        """
        await limits.set_limit(self._session, name, concurrency, rate, note)

    async def reset_limit(self, name: str) -> bool:
        """Let what code declares hold again; False if nothing was set. Raises Refused, and AgentNotFound."""
        return await limits.reset_limit(self._session, name)

    async def audits(self, id: submission_checks.Id | None = None, limit: int = 100) -> list[Audit]:
        """The audit of a task, or of all, newest first."""
        most = act_arguments.listed(limit, "ask for the audit of a task")
        return await self._session.store.operators.audits(None if id is None else submission_checks.known_id(id), most)

    async def complete(self, token: str, result: Any = None, *, by: str | None = None) -> None:
        """Finish a step from outside, done with that result; the audit names ``by``. Raises CompletionRefused."""
        submission_checks.usable("client.complete()", self._session.missing)
        await self._session.completions.complete(token, result, by)

    async def fail(self, token: str, message: str, *, by: str | None = None, **data: Any) -> None:
        """Finish a step from outside, failed for good; the workflow gets a StepFailed. Raises CompletionRefused."""
        submission_checks.usable("client.fail()", self._session.missing)
        await self._session.completions.fail(token, message, data, by)


def client_on(session: ClientSession) -> Client:
    """The client of a session that is made elsewhere, as the actors of a process lend what they have."""
    client = Client.__new__(Client)
    client._session = session
    return client


def session_of(client: Client) -> ClientSession:
    """The session of a client: for commands, relays and the blocking client; it is not part of the public interface."""
    return client._session
