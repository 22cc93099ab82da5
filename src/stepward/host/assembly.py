"""The parts from which the host of a process builds its actors, and the choice of actors."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from stepward.agent.declaration import Agent
from stepward.client.scheduling.schedule_declaration import Recurring
from stepward.client.waiting.task_endings import Endings
from stepward.clock import Environment
from stepward.events import AlertSink, EventReceiver, Hints, Observers
from stepward.host.partition_place import PartitionPlace
from stepward.large_payloads import PayloadKeeper
from stepward.model.failures import FailureConverter
from stepward.model.messages.signing import Signer
from stepward.model.records import Role
from stepward.payload.sealed import PayloadCodec
from stepward.settings import Settings
from stepward.store.contract import Store
from stepward.store.partitions.locating.other_partitions import OtherPartitions
from stepward.submission import SubmissionQueue
from stepward.transport.broker.queue_names import partition_app
from stepward.transport.contract import Transport
from stepward.transport.queues.broker_queues import BrokerQueues
from stepward.transport.queues.contract import AppQueues
from stepward.transport.queues.partition_queues import BrokerPartition
from stepward.workflow.registry import Registry


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The parts from which the host of a process builds its actors."""

    registry: Registry
    agents: Sequence[Agent]
    submissions: Sequence[SubmissionQueue]
    schedules: Sequence[Recurring]
    app: str
    settings: Settings
    environment: Environment
    observers: Observers
    store: Store
    transport: Transport
    queues: AppQueues
    """The applications' own queues: submissions and private response queues."""
    brokered: BrokerQueues | None = None
    """The same, if they are a broker's: rows of the store for them are carried to the broker."""
    signer: Signer | None = None
    """At a broker: the key that signs requests and replies."""
    hints: Hints
    endings: Endings
    sinks: Sequence[AlertSink]
    webhooks: Sequence[EventReceiver] = ()
    failures: FailureConverter = field(default_factory=FailureConverter)
    codec: PayloadCodec | None = None
    """Encrypts payloads in whatever else a process opens on its store; its store and transport have it."""
    keeper: PayloadKeeper | None = None
    """Keeps large payloads outside; the store, the transport and the queues have it."""
    threads: bool = True
    place: PartitionPlace | None = None
    """Of a store that is one of several, its place among them; None for a store alone."""
    others_queues: AppQueues | None = None
    """The applications' own queues of all stores, for messages that are passed on."""

    @property
    def others(self) -> OtherPartitions | None:
        """Of a store that is one of several, the others."""
        return None if self.place is None else self.place.others

    @property
    def partition(self) -> BrokerPartition | None:
        """Of a store that is one of several, its partition at a broker, if there is one."""
        return None if self.place is None else self.place.at_broker

    @property
    def broker_app(self) -> str:
        """The application's name at a broker for the queues between Schedulers and Agents."""
        return self.app if self.partition is None else partition_app(self.app, self.partition.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Roles:
    """Which actors a process runs; ``agents`` None means all of the application's."""

    scheduler: bool = True
    agents: frozenset[str] | None = None
    supervisor: bool = True
    submission: bool = True

    def kinds(self, agents: Collection[Agent], submissions: Collection[object]) -> list[Role]:
        """The roles of the instances that a process registers for these declarations."""
        return [
            role
            for role, is_run in (
                (Role.SCHEDULER, self.scheduler),
                (Role.AGENT, bool(agents) and (self.agents is None or bool(self.agents))),
                (Role.SUPERVISOR, self.supervisor),
                (Role.SUBMISSION, self.submission and bool(submissions)),
            )
            if is_run
        ]
