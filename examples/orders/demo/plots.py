"""The plots: what is played on which store, and by how many."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from examples.orders.processes.stores import StoreKind

NUMBERS = {1: "a", 2: "two", 4: "four"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """How many there are of each kind, and how many of those are killed."""

    store: StoreKind
    schedulers: int
    killed_schedulers: int
    supervisors: int
    kills_leader: bool
    """Whether the leading Supervisor dies along with the Schedulers, so that another has to be elected first."""
    late_orders: int
    """The last so many orders are placed while the primary is dead."""
    tasks_in_flight: int
    """For each Scheduler: so few that all of them are needed."""
    enough_tasks: int
    """A Scheduler that holds so many orders is worth killing."""

    @property
    def crashes_primary(self) -> bool:
        """Whether there is a primary to crash."""
        return self.store is StoreKind.POSTGRESQL

    @property
    def company(self) -> str:
        """Who works in the shop, in words."""
        return (
            f"the storefront, the submission process, {_some(self.schedulers, 'Scheduler')}, two processes of Agents, "
            f"{_some(self.supervisors, 'Supervisor')} and a bookkeeper"
        )


PLOTS: Mapping[StoreKind, Plot] = {
    StoreKind.SQLITE: Plot(
        store=StoreKind.SQLITE,
        schedulers=2,
        killed_schedulers=1,
        supervisors=1,
        kills_leader=False,
        late_orders=0,
        tasks_in_flight=14,
        enough_tasks=5,
    ),
    StoreKind.POSTGRESQL: Plot(
        store=StoreKind.POSTGRESQL,
        schedulers=4,
        killed_schedulers=2,
        supervisors=2,
        kills_leader=True,
        late_orders=5,
        tasks_in_flight=7,
        enough_tasks=3,
    ),
}


def _some(number: int, noun: str) -> str:
    return f"{NUMBERS[number]} {noun}" if number == 1 else f"{NUMBERS[number]} {noun}s"
