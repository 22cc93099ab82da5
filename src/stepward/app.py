"""The application: its workflows, Agents and settings, and how to run it or open a client."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

from stepward import partitions_running as partitioned
from stepward.agent.declaration import Agent
from stepward.app_arguments import (
    checked_name,
    checked_queue,
    checked_redact,
    chosen_agents,
    operations_of,
    receivers_of,
    routes_of,
    several,
)
from stepward.client import Client, ClientSession, Endings, client_on
from stepward.client.scheduling.declared_schedules import ScheduleDeclarations
from stepward.client.scheduling.schedule_declaration import Recurring
from stepward.clock import Environment, failpoint_from
from stepward.durations import Duration
from stepward.encryption import codec_of
from stepward.errors import DeclarationError
from stepward.events import Hints, Observers
from stepward.host import Host, PartitionPlace, Parts, Roles
from stepward.http.access.access_rules import AccessRules
from stepward.http.asgi import AsgiApplication
from stepward.model.failures import FailureConverter, Redact
from stepward.model.messages.signing import KEY_BYTES, STORE_BYTES, Signer, StoreIdentity
from stepward.mounting import mounted
from stepward.observers.declared_sinks import sinks_of
from stepward.observers.logs import LogObserver
from stepward.outbox import check_outbox, relaying
from stepward.running import Health, Reach, Running, keeper_for
from stepward.runtime.cancelling import to_its_end
from stepward.settings import Settings
from stepward.store.contract import Store
from stepward.store.large_payloads.address_check import check_large_payloads
from stepward.store.partitions.single_or_partitioned import check_whole
from stepward.store.sealing.key_check import check_keys, mark_key
from stepward.store.store_at_address import open_store
from stepward.submission import SubmissionQueue
from stepward.submission.declaration import Accept
from stepward.supervisor.pass_report import PassReport
from stepward.sync import SyncClient
from stepward.telemetry.process_telemetry import observed
from stepward.workflow.definition import Workflow
from stepward.workflow.registry import Registry


class App(ScheduleDeclarations):
    """An application: its name, workflows, Agents and settings.

    ``redact`` receives every text of an error (message, traceback, data) before it is recorded, logged or sent, and
    returns what may be kept of it. Of several stores each has a part of the tasks (``docs/partitions.md``). Settings
    come from arguments, then ``STEPWARD_*`` variables, then ``stepward.toml`` or ``[tool.stepward]``.
    """

    def __init__(
        self,
        name: str,
        *,
        workflows: Iterable[Workflow[Any, Any]] = (),
        agents: Iterable[Agent] = (),
        store: str | Sequence[str] | None = None,
        transport: str | None = None,
        environment: Environment | None = None,
        redact: Redact | None = None,
        **settings: Any,
    ) -> None:
        self.name = checked_name(name)
        self.agents: Sequence[Agent] = tuple(several(agents, "agents"))
        self.registry = Registry(several(workflows, "workflows"), operations_of(self.agents))
        given = {"store": store, "transport": transport, **settings}
        overrides = {key: value for key, value in given.items() if value is not None}
        self.settings = Settings.load(overrides, os.environ, Path.cwd())
        self._failures = FailureConverter(traceback_bytes=self.settings.traceback_bytes, redact=checked_redact(redact))
        self.environment = environment or Environment(failpoint=failpoint_from(os.environ.get("STEPWARD_FAILPOINT")))
        self.observers = Observers(LogObserver(), withholds=self.settings.encryption is not None)
        self._submissions: dict[str, SubmissionQueue] = {}
        self._recurring: dict[str, Recurring] = {}
        self._outboxes: list[str] = []
        self._webhooks: list[str] = []
        self._running: Running | None = None

    def __repr__(self) -> str:
        return f"<App {self.name}>"

    @property
    def submissions(self) -> Sequence[SubmissionQueue]:
        """The queues from which messages become tasks."""
        return tuple(self._submissions.values())

    def submission(self, queue: str, *, accept: Accept) -> None:
        """Make a task of each message in ``queue``; ``accept(message, transaction)`` returns the workflow and its
        arguments.

        ``accept`` runs once per message, in the transaction that inserts the task, so that its own rows and the task
        commit together. It raises Unacceptable for a message that can never be accepted.
        """
        self._refuse_running(f"submission {queue}")
        declared = checked_queue(self.settings, SubmissionQueue(queue, accept))
        if queue in self._submissions:
            raise DeclarationError(f"submission {queue}: expected one declaration, found two; rename one queue")
        self._submissions[queue] = declared

    def relay(self, outbox: str) -> None:
        """Make tasks of the rows in the outbox of the database at this address, in every process that runs submissions.

        Each row makes exactly one task, also after crashes. Applications write rows with ``Outbox``.
        """
        self._refuse_running("relay")
        partitioned.refuse_partitions(self.settings, "relay")
        check_outbox(outbox, self.settings.store)
        self._outboxes.append(outbox)

    def webhook(
        self, name: str, *, workflows: Iterable[Workflow[Any, Any]] | None = None, events: Iterable[str] | None = None
    ) -> None:
        """Post the status events of the tasks of these workflows, or of all, to the receiver ``name`` of the setting
        ``webhooks``; of some kinds such as ``stepward.task.completed``, or of all.

        Each event is posted at least once, signed (Standard Webhooks), those of a task in order. It is for tasks that
        are submitted from then on. The Supervisor posts them; only its settings need the receiver.
        """
        self._refuse_running(f"webhook {name}")
        if name in self._webhooks:
            raise DeclarationError(f"webhook {name}: expected one declaration, found two; rename one")
        chosen, route = routes_of(self.name, name, workflows, events, self.registry)
        self._webhooks.append(name)
        for workflow in chosen:
            known = self.registry.events_to.get(workflow)
            self.registry.events_to[workflow] = route if known is None else f"{known} {route}"

    @property
    def outboxes(self) -> Sequence[str]:
        """The addresses of the declared outboxes."""
        return tuple(self._outboxes)

    @asynccontextmanager
    async def running(
        self,
        *,
        scheduler: bool = True,
        agents: bool | Iterable[str] = True,
        supervisor: bool = True,
        submission: bool = True,
        supervisor_every: Duration | None = None,
        drain: Duration | None = None,
        partitions: bool | Iterable[str] = True,
    ) -> AsyncIterator[Running]:
        """Run the chosen actors in this process until the block ends; of several stores for ``partitions``, or all."""
        overrides = {"supervisor_every": supervisor_every, "drain": drain}
        settings = self.settings.replaced({k: v for k, v in overrides.items() if v is not None})
        chosen = chosen_agents(agents, self.agents)
        roles = Roles(scheduler=scheduler, agents=chosen, supervisor=supervisor, submission=submission)
        served = partitioned.served_partitions(settings, partitions)
        health = Health()
        async with observed(self.name, settings, self.observers, health):
            running = health.running = self._running = await self._start(settings, roles, served)
            try:
                async with self._relaying(self._outboxes if submission else ()):
                    yield running
            finally:
                self._running = None
                await running.stop()

    async def supervise_once(self) -> PassReport:
        """Make one pass of the Supervisor over each store, for example from cron. Raises StoreUnavailable."""
        if len(self.settings.stores) == 1:
            return await self._pass(self.settings)
        whole = partitioned.whole_store(self.name, self.settings, self.environment)
        return await partitioned.pass_over_each(whole, self.settings, self._pass)

    async def _pass(self, settings: Settings, place: PartitionPlace | None = None) -> PassReport:
        running = await self._open(settings, Roles(scheduler=False, agents=frozenset(), submission=False), place)
        try:
            return await running.host.supervise_once()
        finally:
            await running.close()

    def client(self) -> Client:
        """A client; made on the event loop that runs the application's actors, it shares their store and is notified of
        changes at once; made elsewhere, as in a thread, it has a connection of its own."""
        running = self._running
        if running is None or not running.is_on_this_loop:
            return self._separate_client()
        return self._client_on(running.store, **running.lent)

    def asgi(self, *, local_admin: bool = False, url: str | None = None) -> AsgiApplication:
        """The HTTP API, the console and the hooks as an ASGI application, to mount in FastAPI or Starlette.

        Clients send an API token or sign in. With ``local_admin`` every request under a name of loopback has the role
        admin. Browsers reach it at ``url``, if given: requests under another host are refused.
        """
        rules = AccessRules(local_admin=local_admin, url=url, two_person=self.settings.two_person)
        return mounted(self.client, rules, hooks=self.settings.hooks)

    def sync_client(self) -> SyncClient:
        """The blocking twin of ``client``, with a connection of its own."""
        return SyncClient(self._separate_client)

    def _separate_client(self) -> Client:
        return self._client_on(self.settings.stores, transport=self.settings.transport)

    def _client_on(self, store: Sequence[str] | Store, **ways: Any) -> Client:
        session = ClientSession(
            store,
            codec=codec_of(self.name, self.settings.encryption),
            keeper=keeper_for(self.name, self.settings, self.environment),
            app=self.name,
            registry=self.registry,
            environment=self.environment,
            payload_bytes=self.settings.payload_bytes,
            **ways,
        )
        return client_on(session)

    def _relaying(self, outboxes: Sequence[str]) -> AbstractAsyncContextManager[None]:
        return relaying(
            outboxes, self.client(), environment=self.environment, observers=self.observers, settings=self.settings
        )

    def _refuse_running(self, what: str) -> None:
        if self._running is not None:
            raise DeclarationError(f"{what}: expected it before the app runs, found the app running; declare it first")

    async def _start(self, settings: Settings, roles: Roles, served: Sequence[int]) -> Running:
        if len(settings.stores) == 1:
            return await self._begin(settings, roles=roles)
        whole = partitioned.whole_store(self.name, settings, self.environment)
        running = partitioned.PartitionsRunning(whole, settings, self.observers, served)
        await running.start(partial(self._begin, roles=roles))
        return running

    async def _begin(self, settings: Settings, *, roles: Roles, place: PartitionPlace | None = None) -> Running:
        running = await self._open(settings, roles, place)
        try:
            await running.host.start()
        except BaseException:
            await to_its_end(running.stop())
            raise
        return running

    async def _open(self, settings: Settings, roles: Roles, place: PartitionPlace | None = None) -> Running:
        webhooks = receivers_of(self.name, self._webhooks, settings, self.registry) if roles.supervisor else ()
        codec, keeper = codec_of(self.name, settings.encryption), keeper_for(self.name, settings, self.environment)
        store = open_store(settings.store, app=self.name, environment=self.environment, codec=codec, keeper=keeper)
        await store.open()
        hints, at = (Hints(), None) if place is None else (place.hints, place.at_broker)
        endings = Endings()
        try:
            if place is None:
                await check_whole(store)
            await store.host.check_rights(roles.kinds(self.agents, self.submissions))
            await check_keys(store.host, codec)
            await check_large_payloads(store.host, keeper)
            if roles.scheduler:
                await mark_key(store.host, codec)
            fresh = StoreIdentity.drawn(self.environment.random.randbytes(KEY_BYTES + STORE_BYTES))
            signer = Signer(await store.host.identity(fresh))
            ways = Reach(self.name, settings, self.environment, self.observers, store, hints, signer, codec, keeper, at)
            transport = await ways.transport([agent.name for agent in self.agents] if roles.scheduler else [])
        except BaseException:
            await to_its_end(store.close())
            raise
        brokered = ways.broker_queues()
        queues = ways.queues(brokered)
        parts = Parts(
            app=self.name,
            registry=self.registry,
            agents=self.agents,
            submissions=self.submissions,
            schedules=[each for each in self.schedules if place is None or await place.others.holds(each.name)],
            queues=queues,
            brokered=brokered,
            signer=signer,
            settings=settings,
            environment=self.environment,
            observers=self.observers,
            store=store,
            transport=transport,
            hints=hints,
            endings=endings,
            sinks=sinks_of(settings, self.name, queues),
            webhooks=webhooks,
            failures=self._failures,
            codec=codec,
            keeper=keeper,
            place=place,
            others_queues=None if place is None else ways.others_queues(queues, place.others.messages),
        )
        return Running(store, transport, queues, hints, endings, Host(parts, roles), self.observers)
