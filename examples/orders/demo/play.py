"""The play: orders are placed and followed, people act, and processes are killed while orders are in flight."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from examples.orders import shop
from examples.orders.database import Order, OrderState
from examples.orders.demo.processes import WAREHOUSE, Processes, Worker
from examples.orders.demo.stories import Part, Story
from examples.orders.demo.telling import Teller
from examples.orders.demo.waiting import Waits
from examples.orders.proof import Takeover
from stepward import Client, TaskHandle, TaskStatus

SCHEDULERS = ("scheduler-1", "scheduler-2")
ENOUGH_TASKS = 5
ENOUGH_CALLS = 2
TELL_EACH = 6


class Play:
    """One run over `cast`, the orders and their stories."""

    def __init__(
        self,
        cast: list[tuple[Order, Story]],
        *,
        client: Client,
        processes: Processes,
        waits: Waits,
        teller: Teller,
    ) -> None:
        self.handles: dict[str, TaskHandle] = {}
        self.placements = 0
        self.takeovers: list[Takeover] = []
        self._cast = cast
        self._client = client
        self._processes = processes
        self._waits = waits
        self._ended = 0
        self._teller = teller

    async def run(self) -> None:
        """Everything, until each order has ended."""
        await self._place_all()
        async with asyncio.TaskGroup() as group:
            for order, story in self._cast:
                group.create_task(self._follow(order, story))
                if story.part is Part.CANCELS:
                    group.create_task(self._cancel(order))
            group.create_task(self._kill_all())

    async def _place_all(self) -> None:
        self._teller.tell(f"Placing {len(self._cast)} orders: an order's row and its task commit together")
        for order, _ in self._cast:
            await self._place(order)
        for order, story in self._cast:
            if story.part is Part.TWICE:
                await self._place(order)
                self._teller.tell(f"{order.id} came a second time, under its id: it stays one task")

    async def _place(self, order: Order) -> None:
        self.placements += 1
        self.handles[order.id] = await shop.place(self._client, order)

    async def _follow(self, order: Order, story: Story) -> None:
        handle = self.handles[order.id]
        with self._waits.named(f"{order.id} to end"):
            state = await shop.conclude(self._client, handle)
            if state is OrderState.ERROR and story.part is Part.OPERATOR:
                await self._help(order, handle)
                await shop.conclude(self._client, handle)
        self._count_end()

    def _count_end(self) -> None:
        self._ended += 1
        if self._ended % TELL_EACH == 0:
            self._teller.tell(f"{self._ended} of {len(self._cast)} orders have ended")

    async def _help(self, order: Order, handle: TaskHandle) -> None:
        alert = next(alert for alert in await self._client.alerts() if alert.task_id == order.id)
        self._teller.tell(f"Alert: {alert.message}", "red")
        await shop.correct_address(self._client, handle, "Harbour Street 5")
        await self._client.acknowledge(alert.number)
        self._teller.tell(f"An operator corrects the address of {order.id} and resubmits the step", "green")

    async def _cancel(self, order: Order) -> None:
        handle = self.handles[order.id]

        async def is_charged() -> bool:
            steps = await handle.steps()
            return any(step.name == "payment.charge" and step.state == "completed" for step in steps)

        await self._waits.until(f"{order.id} to be charged, for its customer to cancel", is_charged)
        await handle.cancel()
        self._teller.tell(f"The customer of {order.id} cancels, with the card already charged")

    async def _kill_all(self) -> None:
        await self._kill_agents(self._processes.worker("agents-1"))
        await self._kill_scheduler()

    async def _kill_agents(self, worker: Worker) -> None:
        async def enough() -> frozenset[str]:
            calls = await self._in_call()
            return calls if len(calls) >= ENOUGH_CALLS else frozenset()

        held = await self._waits.until(f"{ENOUGH_CALLS} calls in flight at {' and '.join(WAREHOUSE)}", enough)
        await worker.kill()
        held &= await self._in_call()
        self.takeovers.append(Takeover(killed=worker.name, held=held))
        self._teller.tell(
            f"kill -9 {worker.name} ({' and '.join(WAREHOUSE)}), with calls for {len(held)} orders in flight",
            "bold red",
        )
        await self._processes.start_worker("agents-3", "agents", "--only", *WAREHOUSE)
        self._teller.tell("agents-3 is started in its place, as infrastructure would do", "green")

    async def _kill_scheduler(self) -> None:
        async def busiest() -> tuple[Worker, str] | None:
            names = await self._instances()
            held = {each: len(await self._held_by(instance)) for each, instance in names.items()}
            worker = max(held, key=lambda each: held[each])
            return (worker, names[worker]) if held[worker] >= ENOUGH_TASKS else None

        found = await self._waits.until(f"a Scheduler with {ENOUGH_TASKS} orders in flight", busiest)
        assert found is not None, "until() gives what it found"
        worker, instance = found
        await worker.kill()
        held = await self._held_by(instance)
        self.takeovers.append(Takeover(killed=worker.name, held=held))
        self._teller.tell(f"kill -9 {worker.name}, with {len(held)} orders in flight", "bold red")
        await self._waits.until(f"the orders of {worker.name} to be freed", lambda: self._is_freed(instance))
        other = next(name for name in SCHEDULERS if name != worker.name)
        self._teller.tell(
            f"The Supervisor finds {worker.name}’s lease run out and frees its orders: {other} goes on with them",
            "green",
        )

    async def _in_call(self) -> frozenset[str]:
        """The orders for which an Agent of the warehouse is at work."""
        calling = set()
        for order_id, handle in self.handles.items():
            steps = await handle.steps()
            if any(step.state == "running" and step.agent in WAREHOUSE for step in steps):
                calling.add(order_id)
        return frozenset(calling)

    async def _instances(self) -> Mapping[Worker, str]:
        instances = {instance.pid: instance.id for instance in await self._client.instances()}
        workers = [self._processes.worker(name) for name in SCHEDULERS]
        return {worker: instances[worker.pid] for worker in workers}

    async def _held_by(self, instance: str) -> frozenset[str]:
        return frozenset(task.id for task in await self._tasks() if task.locked_by == instance)

    async def _is_freed(self, instance: str) -> bool:
        return not await self._held_by(instance)

    async def _tasks(self) -> list[TaskStatus]:
        return await self._client.tasks(limit=len(self._cast) + 1)
