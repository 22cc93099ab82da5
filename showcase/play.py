"""The play: orders are placed and followed, people act, and processes are killed while orders are on the way."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from functools import partial

from examples.orders import database
from examples.orders.database import OrderRecord, OrderState
from examples.shop.bookkeeper import correct_address
from showcase.faults.crash import Crash
from showcase.faults.kills import Chosen, Kills
from showcase.faults.outage import BrokerOutage
from showcase.front_door import FrontDoor
from showcase.plots import Cast, Plot
from showcase.processes import Processes
from showcase.proof import Takeover
from showcase.proof.events import LAST
from showcase.stories import DemoStory, StoryPart
from showcase.telling import Teller
from showcase.waiting import EACH_SECONDS, Waits
from stepward import Client, TaskCancelled, TaskFailed, TaskUndone
from stepward.errors import StoreError, TaskNotFound

BEFORE_THE_KILL = 5
HEARD_SECONDS = 10
PAGE = 500
TELL_EACH = 6

# Orders wait on purpose here, for Agents that are killed; what waits too long is named by the demo itself.
logging.getLogger("stepward.client").addHandler(logging.NullHandler())


class Play:
    """One run over `cast`, the orders and their stories."""

    def __init__(
        self,
        plot: Plot,
        cast: Cast,
        *,
        client: Client,
        door: FrontDoor,
        processes: Processes,
        outage: BrokerOutage | None,
        waits: Waits,
        teller: Teller,
    ) -> None:
        self._cast = cast
        self._client = client
        self._door = door
        self._parcel = processes.services["parcel"]
        self._first, self._held_back, self._late = plot.waves(cast)
        self._kills = Kills(plot, client, processes, waits, teller)
        pair = processes.pair
        self.crash = None if pair is None else Crash(client, door, pair, waits, teller, enough=plot.enough_in_flight)
        self.outage = outage
        self._waits = waits
        self._ended = 0
        self._teller = teller

    @property
    def takeovers(self) -> list[Takeover]:
        """Each process that was killed, with the orders that it was working on."""
        return [*self._kills.takeovers, *(self.crash.takeovers if self.crash else [])]

    async def run(self) -> None:
        """The whole play, until each order has ended and its last event has come."""
        await self._place()
        async with asyncio.TaskGroup() as group:
            for order, story in self._cast:
                group.create_task(self._follow(order, story))
                if story.part is StoryPart.CANCELS:
                    group.create_task(self._cancel(order))
            group.create_task(self._kill())
        await self._waits.until("the bookkeeper to close the books", self._are_books_closed)
        await self._hear_all()

    async def _place(self) -> None:
        self._teller.tell(f"Placing {len(self._first)} orders at the storefront, over HTTP")
        for order, _ in self._first[:BEFORE_THE_KILL]:
            await self._door.order(order)
            # What it has in hand when it is killed comes again only when its lease on that is over.
            await self._waits.until(f"{order.id} to be heard of", partial(self._is_heard_of, order))
        await self._kills.kill_submission()
        for order, _ in self._first[BEFORE_THE_KILL:]:
            await self._door.order(order)
        for order, story in self._first:
            if story.part is StoryPart.TWICE:
                await self._door.order(order)
                self._teller.tell(f"The form of {order.id} came a second time: it stays one order and one task")
        await self._kills.take_submission_over([order.id for order, _ in self._first])

    async def _kill(self) -> None:
        await self._kills.kill_agents()
        leader = await self._kills.leader()
        # Chosen while orders come in, as they may be too few once the broker is away, or a look later.
        busiest, _ = await asyncio.gather(self._kills.busiest(), self._place_held_back())
        if self.outage is not None:
            await self.outage.strike(self._client, self._waits, self._teller)
        await self._kills.kill(Chosen(leader, busiest))
        if self.outage is not None:
            await self.outage.recover(self._waits, self._teller)
        if self.crash is not None:
            await self.crash.run([order for order, _ in self._late])
        if self.outage is not None:
            await self.outage.heal(self._waits, self._teller)

    async def _place_held_back(self) -> None:
        if self.outage is not None:
            self._teller.tell(f"Placing {len(self._held_back)} orders more")
            await asyncio.gather(*(self._door.order(order) for order, _ in self._held_back))

    async def _follow(self, order: OrderRecord, story: DemoStory) -> None:
        await self._waits.until(f"{order.id} to be accepted", partial(self._is_accepted, order))
        with self._waits.named(f"{order.id} to end"):
            state = await self._end_of(order)
            if state is OrderState.ERROR and story.part is StoryPart.OPERATOR:
                await self._help(order)
                await self._end_of(order)
        self._count_end()

    async def _is_accepted(self, order: OrderRecord) -> bool:
        try:
            await self._client.task(order.id).status()
        except TaskNotFound:
            return False
        return True

    async def _end_of(self, order: OrderRecord) -> OrderState:
        while True:
            with suppress(StoreError):
                return await self._end_as_found(order)
            await asyncio.sleep(EACH_SECONDS)

    async def _end_as_found(self, order: OrderRecord) -> OrderState:
        try:
            await self._client.task(order.id).result()
        except TaskUndone:
            return OrderState.UNDONE
        except TaskCancelled:
            return OrderState.CANCELLED
        except TaskFailed:
            return OrderState.ERROR
        return OrderState.PROCESSED

    def _count_end(self) -> None:
        self._ended += 1
        if self._ended % TELL_EACH == 0:
            self._teller.tell(f"{self._ended} of {len(self._cast)} orders have ended")

    async def _help(self, order: OrderRecord) -> None:
        alert = next(alert for alert in await self._client.alerts() if alert.task_id == order.id)
        self._teller.tell(f"Alert: {alert.message}", "red")
        await correct_address(self._client, order.id, "Harbour Street 5")
        await self._client.acknowledge(alert.number)
        self._teller.tell(f"An operator corrects the address of {order.id} and resubmits the step", "green")

    async def _cancel(self, order: OrderRecord) -> None:
        # Where a call is slow there is time to cancel: not before it is made, nor after it is done.
        await self._waits.until(
            f"{order.id} to meet its slow service, for its customer to cancel", partial(self._is_met, order)
        )
        await self._client.task(order.id).cancel()
        self._teller.tell(f"The customer of {order.id} cancels, with the card already charged")

    async def _is_met(self, order: OrderRecord) -> bool:
        return any(fault["order_id"] == order.id and fault["hits"] for fault in await self._parcel.faults())

    async def _are_books_closed(self) -> bool:
        async with self._client.transaction() as transaction:
            return not await database.read_open(transaction, PAGE)

    async def _hear_all(self) -> None:
        """Wait for the last event of each order; missing ones are for the proof to find."""
        try:
            async with asyncio.timeout(HEARD_SECONDS):
                for order, story in self._cast:
                    is_heard = partial(self._is_heard, order, story)
                    await self._waits.until(f"the last word of {order.id}", is_heard)
        except TimeoutError:
            self._teller.tell(f"Not all was heard within {HEARD_SECONDS} s", "bold red")

    async def _is_heard_of(self, order: OrderRecord) -> bool:
        return bool(await self._door.heard(order.id))

    async def _is_heard(self, order: OrderRecord, story: DemoStory) -> bool:
        heard = await self._door.heard(order.id)
        return bool(heard) and heard[-1].type == LAST[story.ends]
