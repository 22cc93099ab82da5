"""One run of the demo: start everything, play, close the books, and show what became of the orders."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from examples.orders.app import app
from examples.shop.node import serves_mail
from showcase.closing import close
from showcase.faults.outage import watched
from showcase.front_door import FrontDoor
from showcase.play import Play
from showcase.plots import Plot
from showcase.processes import Processes
from showcase.proof import Finding
from showcase.stories import fault_kinds, orders
from showcase.telling import Teller
from showcase.waiting import Waits
from stepward import Client


async def run(plot: Plot, folder: Path, teller: Teller, waits: Waits) -> list[Finding]:
    """The findings, printed already."""
    teller.title("Stepward: orders against four unreliable services")
    has_node = await serves_mail(plot.stage.transport, teller.tell)
    plot = replace(plot, crew=replace(plot.crew, has_node=has_node))
    processes = Processes(folder, plot)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(processes.stop)
        await _start(plot, processes, teller)
        client = Client(processes.store, app=app.name)
        await stack.enter_async_context(client)
        door = await stack.enter_async_context(FrontDoor(processes.storefront.url))
        broker = processes.broker
        outage = None if broker is None else await stack.enter_async_context(watched(broker))
        play = Play(
            plot,
            list(orders()),
            client=client,
            door=door,
            processes=processes,
            outage=outage,
            waits=waits,
            teller=teller,
        )
        await _while_alive(processes, play.run())
        return await close(play, client=client, door=door, services=processes.services, teller=teller)


async def _start(plot: Plot, processes: Processes, teller: Teller) -> None:
    teller.tell("Starting the services: stock, payment, parcel and mail, each a process")
    for servers in plot.servers:
        teller.tell(servers)
    await processes.start_services()
    teller.tell(f"They are told to misbehave: {', '.join(fault_kinds())}")
    teller.tell(f"Starting {plot.company}")
    await processes.start_shop()


async def _while_alive(processes: Processes, play: Coroutine[Any, Any, None]) -> None:
    """Play to the end; a worker that dies unasked ends the play."""
    tasks = [asyncio.create_task(play), asyncio.create_task(processes.watch())]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
