"""Three processes are killed with `kill -9` while orders are on the way; others have to take their work over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from examples.orders.demo.processes import WAREHOUSE, Processes
from examples.orders.demo.telling import Teller
from examples.orders.demo.waiting import Waits
from examples.orders.processes.process import Process
from examples.orders.proof import Takeover
from stepward import Client, TaskStatus

SUBMISSION = "submission-1"
SCHEDULERS = ("scheduler-1", "scheduler-2")
ENOUGH_TASKS = 5
ENOUGH_CALLS = 2


class Kills:
    """Who is killed when, and what it held then: `takeovers`."""

    def __init__(
        self, orders: Sequence[str], client: Client, processes: Processes, waits: Waits, teller: Teller
    ) -> None:
        self.takeovers: list[Takeover] = []
        self._orders = orders
        self._client = client
        self._processes = processes
        self._waits = waits
        self._teller = teller

    async def kill_submission(self) -> None:
        """Kill the submission process, with messages before it; more may come while there is none."""
        await self._processes.worker(SUBMISSION).kill()
        self._teller.tell(f"kill -9 {SUBMISSION}; the storefront goes on taking orders", "bold red")

    async def take_submission_over(self) -> None:
        """Start another, with all that is left in the queue before it."""
        held = frozenset(self._orders) - {task.id for task in await self._tasks()}
        self.takeovers.append(Takeover(killed=SUBMISSION, held=held))
        await self._processes.start_worker("submission-2", "submission")
        self._teller.tell(f"submission-2 is started in its place, and finds {len(held)} orders in the queue", "green")

    async def kill_agents_and_scheduler(self) -> None:
        """Kill Agents with calls in flight, then the Scheduler that has more to do."""
        await self._kill_agents(self._processes.worker("agents-1"))
        await self._kill_scheduler()

    async def _kill_agents(self, worker: Process) -> None:
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
        async def busiest() -> tuple[Process, str] | None:
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
        for task in await self._tasks():
            steps = await self._client.task(task.id).steps()
            if any(step.state == "running" and step.agent in WAREHOUSE for step in steps):
                calling.add(task.id)
        return frozenset(calling)

    async def _instances(self) -> Mapping[Process, str]:
        instances = {instance.pid: instance.id for instance in await self._client.instances()}
        workers = [self._processes.worker(name) for name in SCHEDULERS]
        return {worker: instances[worker.pid] for worker in workers}

    async def _held_by(self, instance: str) -> frozenset[str]:
        return frozenset(task.id for task in await self._tasks() if task.locked_by == instance)

    async def _is_freed(self, instance: str) -> bool:
        return not await self._held_by(instance)

    async def _tasks(self) -> list[TaskStatus]:
        return await self._client.tasks(limit=len(self._orders) + 1)
