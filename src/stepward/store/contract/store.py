"""A whole state store."""

from __future__ import annotations

from typing import Protocol

from msgspec import Struct

from stepward.store.contract.client import ClientStore
from stepward.store.contract.host import HostStore
from stepward.store.contract.messages import MessageStore
from stepward.store.contract.scheduler import SchedulerStore
from stepward.store.contract.supervisor import SupervisorStore


class Identity(Struct, frozen=True):
    """Whose store it is, and which schema it has."""

    app: str
    schema_version: int
    newest_version: int
    """The newest schema that this program knows."""
    id: str | None = None
    """What tells it from other stores; None until the application first ran on it."""


class Store(SchedulerStore, SupervisorStore, ClientStore, HostStore, Protocol):
    """A whole state store; each actor is given it as the part it may use."""

    @property
    def messages(self) -> MessageStore:
        """The queues in this store."""
        ...

    async def open(self) -> None:
        """Connect, migrate a new or older store; raises StoreUnavailable or StoreUnusable."""
        ...

    async def close(self) -> None:
        """Let go of the connection."""
        ...
