"""The context that the parts of a Scheduler share: the means of its process, and its instance."""

from __future__ import annotations

from dataclasses import dataclass

from stepward.clock import Environment
from stepward.events import Observers
from stepward.large_payloads import PayloadKeeper
from stepward.model.failures import FailureConverter
from stepward.model.messages.requests import reply_queue
from stepward.settings import Settings
from stepward.store.contract import SchedulerStore
from stepward.transport.contract import Transport
from stepward.workflow.registry import Registry


@dataclass(frozen=True, slots=True)
class SchedulerContext:
    """Given to each Scheduler by its host; another instance has another context."""

    instance: str
    store: SchedulerStore
    transport: Transport
    registry: Registry
    settings: Settings
    environment: Environment
    observers: Observers
    failures: FailureConverter
    keeper: PayloadKeeper | None = None
    """Keeps large payloads outside the store, if any are; the store has it."""

    @property
    def reply_to(self) -> str:
        """The queue of this instance's replies."""
        return reply_queue(self.instance)
