"""A whole state store."""

from __future__ import annotations

from typing import Protocol

from msgspec import Struct

from stepward.store.contract.client import ClientStore
from stepward.store.contract.host import HostStore
from stepward.store.contract.messages import MessageStore
from stepward.store.contract.operators import OperatorStore
from stepward.store.contract.scheduler import SchedulerStore
from stepward.store.contract.supervisor import SupervisorStore


class Identity(Struct, frozen=True):
    """The application, schema version and id of a store."""

    app: str
    schema_version: int
    newest_version: int
    """The newest schema version that this program supports."""
    id: str | None = None
    """The id of the store; None until the application first ran on it."""


class Store(Protocol):
    """A whole state store: its parts, of which each actor is given its own."""

    @property
    def scheduler(self) -> SchedulerStore:
        """For Schedulers."""
        ...

    @property
    def supervisor(self) -> SupervisorStore:
        """For Supervisors."""
        ...

    @property
    def client(self) -> ClientStore:
        """For applications."""
        ...

    @property
    def operators(self) -> OperatorStore:
        """For operators."""
        ...

    @property
    def host(self) -> HostStore:
        """For the host of actors."""
        ...

    @property
    def messages(self) -> MessageStore:
        """The queues in this store."""
        ...

    def now(self) -> float:
        """The store's clock."""
        ...

    async def open(self) -> None:
        """Connects, and migrates a new or older store; raises StoreUnavailable or StoreUnusable."""
        ...

    async def close(self) -> None:
        """Closes the connections."""
        ...
