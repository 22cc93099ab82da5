"""The processes of the demo: the services with their faults, and all that is the shop's own.

Those are not started again by themselves: one that dies without having been killed by the play ends the demo.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

from examples.shop.processes.crews import Member
from examples.shop.processes.premises import Premises
from servers.keeper.process import Process
from showcase.plots import Plot
from showcase.stories import STOCK, faults_of, orders

SETTINGS = {
    "STEPWARD_LEASE": "2s",
    "STEPWARD_SUPERVISOR_EVERY": "200ms",
    "STEPWARD_DRAIN": "1s",
}


class Processes:
    """The processes of the demo, by name; `watch` reports one that ends unasked, and none is left after `stop`."""

    def __init__(self, folder: Path, plot: Plot) -> None:
        settings = {**SETTINGS, "STEPWARD_TASKS_IN_FLIGHT": str(plot.tasks_in_flight)}
        self._premises = Premises(folder, settings, stage=plot.stage, stock=STOCK)
        self._workers: dict[str, Process] = {}
        # Else a machine that is busy would see them end before it has looked whom they were with.
        self._lingering = [order.id for order, _ in plot.waves(list(orders())).held_back]
        self.crew = plot.crew
        self.store = self._premises.store
        self.pair = self._premises.pair
        self.broker = self._premises.broker
        self.services = self._premises.services
        self.storefront = self._premises.storefront()

    async def start_services(self) -> None:
        """Start the four services, and tell each how to misbehave; and what store and transport stand on."""
        await asyncio.gather(self._premises.start_servers(), self._premises.group.start(*self.services.values()))
        services = self.services.values()
        await asyncio.gather(*(each.put_faults(faults_of(each.name, self._lingering)) for each in services))

    async def start_shop(self) -> None:
        """Start all that is ours: storefront, submission, Schedulers, Agents, Supervisors, bookkeeper."""
        self._workers = {member.name: self._premises.member(member) for member in self.crew.members()}
        bookkeeper = self._premises.bookkeeper()
        await self._premises.group.start(*self._workers.values(), bookkeeper, self.storefront)

    async def start_worker(self, member: Member) -> None:
        """Start one more, as infrastructure would."""
        self._workers[member.name] = self._premises.member(member)
        await self._premises.group.start(self._workers[member.name])

    def worker(self, name: str) -> Process:
        """The worker of that name."""
        return self._workers[name]

    async def watch(self) -> None:
        """Raise ProcessDied when a process ends that the play did not kill; never returns."""
        await self._premises.group.watch()

    async def stop(self) -> None:
        """End all that still run."""
        await self._premises.group.stop()
