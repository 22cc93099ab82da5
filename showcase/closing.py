"""The end of a run: the books are closed, what became of the orders is shown, and the proof is made."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from examples.orders import database
from examples.orders.database import OrderRecord
from examples.shop.services.faults import StandingFault
from examples.shop.services.process import ServiceProcess
from servers.ledger import Effect
from showcase.faults.standby import states_at_standby
from showcase.front_door import FrontDoor
from showcase.play import Play
from showcase.proof import Evidence, Failover, Finding, prove
from showcase.proof.books import OrderBook, OrderBooks
from showcase.stories import expected, orders
from showcase.table import LEGEND, TableRow, course_of, table
from showcase.telling import Teller
from stepward import Client

MOST_LISTED = 1000


async def close(
    play: Play, *, client: Client, door: FrontDoor, services: Mapping[str, ServiceProcess], teller: Teller
) -> list[Finding]:
    """The findings, printed along with the table."""
    books = OrderBooks(**{name: await _book(service) for name, service in services.items()})
    placed = await _placed(client)
    rows = [
        TableRow(order=placed[order.id], story=story, course=await course_of(client.task(order.id)))
        for order, story in orders()
        if order.id in placed
    ]
    teller.title("What became of them")
    teller.console.print(table(rows, books))
    teller.legend(LEGEND)
    evidence = Evidence(
        books=books,
        forms=door.accepted,
        states={order.id: order.state for order in placed.values()},
        tasks=[task.id for task in await client.tasks(limit=MOST_LISTED)],
        heard={order.id: await door.heard(order.id) for order, _ in orders()},
        dead_letters=[letter.reason for letter in await client.dead_letters(limit=MOST_LISTED)],
        takeovers=play.takeovers,
        failover=await _failover(play),
        outage=None if play.outage is None else play.outage.outage,
        transit=None if play.outage is None else play.outage.transit,
    )
    findings = prove([expected(order, story) for order, story in orders()], evidence)
    teller.title("By the books of the services, the shop's records and what the storefront heard")
    teller.findings(findings)
    return findings


async def _failover(play: Play) -> Failover | None:
    crash = play.crash
    if crash is None:
        return None
    return Failover(acknowledged=crash.acknowledged, standby=await states_at_standby(crash.pair.standing))


async def _placed(client: Client) -> dict[str, OrderRecord]:
    async with client.transaction() as transaction:
        return {order.id: order for order in await database.read_orders(transaction)}


async def _book(service: ServiceProcess) -> OrderBook:
    return OrderBook(
        effects=msgspec.convert(await service.ledger(), list[Effect]),
        deliveries=await service.deliveries(),
        faults=msgspec.convert(await service.faults(), list[StandingFault]),
    )
