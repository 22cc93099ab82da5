"""The plots: what is played on which store and over which transport, and by how many."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from examples.orders.database import OrderRecord
from examples.shop.processes.crews import Agents, Crew, agents_over
from examples.shop.processes.stage import DemoStage
from examples.shop.processes.stores import StoreKind
from servers.keeper.transports import TransportKind
from showcase.stories import DemoStory

NUMBERS = {1: "a", 2: "two", 4: "four", 5: "five"}
SERVERS = {
    TransportKind.NATS: "Starting NATS: three servers, each of which keeps every message",
    TransportKind.RABBITMQ: "Starting RabbitMQ: one server, with quorum queues",
    TransportKind.AMQP10: "Starting RabbitMQ: one server, which speaks AMQP 1.0",
    TransportKind.ACTIVEMQ: "Starting ActiveMQ: one server, which speaks AMQP 1.0",
}

Cast = Sequence[tuple[OrderRecord, DemoStory]]
"""Orders and their stories."""


class Waves(NamedTuple):
    """The orders, by when they are placed."""

    first: Cast
    held_back: Cast
    """Right before the broker is hurt: these have to be on the way while it is."""
    late: Cast
    """While the primary is dead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """How many there are of each kind, and how many of those are killed."""

    stage: DemoStage = field(default_factory=DemoStage)
    crew: Crew
    killed_schedulers: int
    kills_leader: bool
    """Whether the leading Supervisor dies along with the Schedulers, so that another has to be elected first."""
    held_back_orders: int = 0
    """So many before those are placed right before the broker is hurt."""
    late_orders: int
    """The last so many orders are placed while the primary is dead."""
    tasks_in_flight: int
    """For each Scheduler: so few that all of them are needed."""
    enough_calls: int = 2
    """Agents that have so many calls in flight are worth killing."""
    enough_tasks: int
    """A Scheduler that holds so many orders is worth killing."""
    enough_in_flight: int = 5
    """While so many orders have not ended the primary is worth killing."""

    @property
    def killed_agents(self) -> Agents:
        """The Agents of the process that is killed: `agents-1`."""
        return self.crew.agents[0]

    def waves(self, cast: Cast) -> Waves:
        """The orders by when they are placed."""
        on_time = len(cast) - self.late_orders
        first = on_time - self.held_back_orders
        return Waves(cast[:first], cast[first:on_time], cast[on_time:])

    @property
    def servers(self) -> list[str]:
        """The servers to be started beside the services, in words."""
        database = "Starting PostgreSQL: a primary, and a standby without which it commits nothing"
        started = [database] if self.stage.store is StoreKind.POSTGRESQL else []
        return [*started, SERVERS[self.stage.transport]] if self.stage.transport.is_broker else started

    @property
    def company(self) -> str:
        """The processes of the shop, in words."""
        crew = self.crew
        schedulers = _some(crew.schedulers, "Scheduler")
        agents = f", {_some(len(crew.agents), 'process')} of Agents" if crew.has_agents_apart else " with all Agents"
        supervisors = _some(crew.supervisors, "Supervisor")
        return f"the storefront, the submission process, {schedulers}{agents}, {supervisors} and a bookkeeper"


PLOTS: Mapping[StoreKind, Plot] = {
    StoreKind.SQLITE: Plot(
        crew=Crew(schedulers=2, supervisors=1, agents=()),
        killed_schedulers=1,
        kills_leader=False,
        late_orders=0,
        tasks_in_flight=14,
        enough_tasks=5,
    ),
    StoreKind.POSTGRESQL: Plot(
        crew=Crew(schedulers=4, supervisors=2, agents=()),
        killed_schedulers=2,
        kills_leader=True,
        late_orders=5,
        tasks_in_flight=7,
        enough_tasks=3,
    ),
}


def plot_of(stage: DemoStage) -> Plot:
    """The plot of that stage."""
    plot = PLOTS[stage.store]
    plot = replace(plot, stage=stage, crew=replace(plot.crew, agents=agents_over(stage.transport)))
    return _over_broker(plot) if stage.transport.is_broker else plot


def _over_broker(plot: Plot) -> Plot:
    """The plot over a broker: more faults, so less is left to be hit each time: the Schedulers die while the broker
    is away."""
    held_back = {StoreKind.SQLITE: 10, StoreKind.POSTGRESQL: 7}[plot.stage.store]
    return replace(
        plot,
        held_back_orders=held_back,
        # No Scheduler takes all that were held back before the others have looked.
        tasks_in_flight=held_back // 2,
        enough_calls=1,
        enough_tasks=1,
        enough_in_flight=1,
    )


def _some(number: int, noun: str) -> str:
    plural = f"{noun}es" if noun.endswith("s") else f"{noun}s"
    return f"{NUMBERS[number]} {noun if number == 1 else plural}"
