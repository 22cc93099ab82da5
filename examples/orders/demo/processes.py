"""The processes of the demo: the services with their faults, and all that is the shop's own.

Those are not started again by themselves: one that dies without having been killed by the play ends the demo.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

from examples.orders.demo.plots import Plot
from examples.orders.demo.stories import STOCK, faults_of
from examples.orders.processes.premises import Premises
from examples.orders.processes.process import Process
from examples.orders.services.process import ServiceProcess

WAREHOUSE = ("stock", "parcel")
OFFICE = ("payment", "mail")
SETTINGS = {
    "STEPWARD_TRANSPORT": "store",
    "STEPWARD_LEASE": "2s",
    "STEPWARD_SUPERVISOR_EVERY": "200ms",
    "STEPWARD_DRAIN": "1s",
}


class Processes:
    """All of them, by name; `watch` tells of one that ends unasked, and none is left after `stop`."""

    def __init__(self, folder: Path, plot: Plot) -> None:
        settings = {**SETTINGS, "STEPWARD_TASKS_IN_FLIGHT": str(plot.tasks_in_flight)}
        self._premises = Premises(folder, settings, kind=plot.store, stock=STOCK)
        self._workers: dict[str, Process] = {}
        self.schedulers = [f"scheduler-{number}" for number in range(1, plot.schedulers + 1)]
        self.supervisors = [f"supervisor-{number}" for number in range(1, plot.supervisors + 1)]
        self.store = self._premises.store
        self.pair = self._premises.pair
        self.services = self._premises.services
        self.storefront = self._premises.storefront()

    async def start_services(self) -> None:
        """Start the four services, and tell each how to misbehave; and what the state store stands on."""
        await asyncio.gather(self._premises.start_store(), self._premises.group.start(*self.services.values()))
        await asyncio.gather(*(_misbehave(service) for service in self.services.values()))

    async def start_shop(self) -> None:
        """Start all that is ours: storefront, submission, Schedulers, two of Agents, Supervisors, bookkeeper."""
        workers = [
            self._premises.worker("submission-1", "submission"),
            *(self._premises.worker(name, "scheduler") for name in self.schedulers),
            self._premises.worker("agents-1", "agents", "--only", *WAREHOUSE),
            self._premises.worker("agents-2", "agents", "--only", *OFFICE),
            *(self._premises.worker(name, "supervisor") for name in self.supervisors),
            self._premises.bookkeeper(),
        ]
        self._workers = {worker.name: worker for worker in workers}
        await self._premises.group.start(*workers, self.storefront)

    async def start_worker(self, name: str, role: str, *options: str) -> None:
        """Start one more, as infrastructure would."""
        self._workers[name] = self._premises.worker(name, role, *options)
        await self._premises.group.start(self._workers[name])

    def worker(self, name: str) -> Process:
        """The worker of that name."""
        return self._workers[name]

    async def watch(self) -> None:
        """Raise ProcessDied when one ends that nobody killed; never returns."""
        await self._premises.group.watch()

    async def stop(self) -> None:
        """End all that still run."""
        await self._premises.group.stop()


async def _misbehave(service: ServiceProcess) -> None:
    await service.put_faults(faults_of(service.name))
