"""One run of the demo: start everything, play, close the books, and show what became of the orders."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import msgspec

from examples.orders import database
from examples.orders.app import app
from examples.orders.books import Book, Books
from examples.orders.demo.play import Play
from examples.orders.demo.processes import Processes, running
from examples.orders.demo.stories import expected, fault_kinds, orders
from examples.orders.demo.table import LEGEND, Row, course_of, table
from examples.orders.demo.telling import Teller
from examples.orders.demo.waiting import Waits
from examples.orders.proof import Evidence, Finding, prove
from examples.orders.services.faults import StandingFault
from examples.orders.services.ledger import Effect
from examples.orders.services.process import ServiceProcess
from stepward import Client
from stepward.events import Hints


async def run(folder: Path, teller: Teller, waits: Waits, hints: Hints) -> list[Finding]:
    """The findings, printed already."""
    store = f"sqlite:///{folder / 'orders.db'}"
    client = Client(store, app=app.name, registry=app.registry, hints=hints)
    teller.title("Stepward: orders against four unreliable services")
    teller.tell("Starting the services: stock, payment, parcel and mail, each a process")
    async with client, running(folder, store) as processes:
        async with client.transaction() as transaction:
            await database.create_table(transaction)
        teller.tell(f"They are told to misbehave: {', '.join(fault_kinds())}")
        teller.tell("Starting two Schedulers, two processes of Agents and a Supervisor")
        await processes.start_workers()
        play = Play(list(orders()), client=client, processes=processes, waits=waits, teller=teller)
        await _while_alive(processes, play.run())
        return await _close(play, processes, client, teller)


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


async def _close(play: Play, processes: Processes, client: Client, teller: Teller) -> list[Finding]:
    books = Books(**{name: await _book(service) for name, service in processes.services.items()})
    async with client.transaction() as transaction:
        placed = {order.id: order for order in await database.read_orders(transaction)}
    rows = [
        Row(order=placed[order.id], story=story, course=await course_of(play.handles[order.id]))
        for order, story in orders()
    ]
    teller.title("What became of them")
    teller.console.print(table(rows, books))
    teller.legend(LEGEND)
    teller.title("By the books of the services themselves")
    evidence = Evidence(
        books=books,
        states={order.id: order.state for order in placed.values()},
        tasks=[task.id for task in await client.tasks(limit=1000)],
        placements=play.placements,
        takeovers=play.takeovers,
    )
    findings = prove([expected(order, story) for order, story in orders()], evidence)
    teller.findings(findings)
    return findings


async def _book(service: ServiceProcess) -> Book:
    return Book(
        effects=msgspec.convert(await service.ledger(), list[Effect]),
        deliveries=await service.deliveries(),
        faults=msgspec.convert(await service.faults(), list[StandingFault]),
    )
