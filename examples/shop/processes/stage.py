"""What the shop stands on: where it keeps its orders, and over what its processes speak with one another."""

from __future__ import annotations

from dataclasses import dataclass

from examples.shop.processes.stores import StoreKind, store_kind
from servers.keeper.transports import TransportKind, transport_kind


@dataclass(frozen=True, slots=True)
class DemoStage:
    """A store and a transport."""

    store: StoreKind = StoreKind.SQLITE
    transport: TransportKind = TransportKind.STORE

    @property
    def has_servers(self) -> bool:
        """Whether data are with servers, and go with them."""
        return self.store is StoreKind.POSTGRESQL or self.transport.is_broker


def stage_of(store: str, transport: str) -> DemoStage:
    """What STORE=… and TRANSPORT=… say; raises ValueError, in words.

    Empty is what usually goes with the other: a broker is for processes on many hosts, and so it goes with PostgreSQL.
    """
    carried = transport_kind(transport) if transport else TransportKind.STORE
    usual = StoreKind.POSTGRESQL if carried.is_broker else StoreKind.SQLITE
    return DemoStage(store_kind(store) if store else usual, carried)
