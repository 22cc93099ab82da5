"""The processes of the shop: more of each kind where a deployment would have more machines."""

from __future__ import annotations

from examples.shop.processes.crews import APART, Agents, Crew
from examples.shop.processes.premises import SERVICES
from examples.shop.processes.stage import DemoStage
from examples.shop.processes.stores import StoreKind
from servers.keeper.transports import TransportKind


def crew_of(stage: DemoStage) -> Crew:
    """The processes on that stage."""
    number = 1 if stage.store is StoreKind.SQLITE else 2
    return Crew(schedulers=number, supervisors=number, agents=_agents(stage.transport, number))


def _agents(transport: TransportKind, number: int) -> tuple[Agents, ...]:
    if transport is TransportKind.LOCAL:
        return ()
    return tuple(APART) if transport.is_broker else (SERVICES,) * number
