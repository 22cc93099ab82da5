"""Applications that know the submission queue alone: they post, some twice, some nonsense; operators mend the rest."""

from __future__ import annotations

import asyncio
import random

import msgspec

from simulation.application.orders import PREFIX, QUEUE, SimulatedOrder
from simulation.application.plans import Planner
from simulation.environment.process import APP, SimulatedProcess
from simulation.environment.world import World
from simulation.invariants.conservation import message_id, order_of
from simulation.invariants.watched_rows import LetterRow
from stepward.errors import Refused, StoreError, TransportError
from stepward.model.messages.requests import submission_queue

PATIENCE = 3.0
ADDRESS = submission_queue(APP, QUEUE)
NONSENSE = (b"", b"{", b"\xff\xfe", b"[" * 2_000, b'{"specversion":"0.3"}', b'{"specversion":"1.0","id":"queued-x"}')
NEVER = ("unacceptable", "failing", "spoiling", "poison")


class Posting:
    """Everyone who posts."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._chance = random.Random(f"{world.seed}/posting")
        self._planner = Planner(random.Random(f"{world.seed}/orders"))
        self._wanted: dict[str, tuple[SimulatedOrder, str | None]] = {}
        self._posted: set[str] = set()
        """Ids of messages whose posting was acknowledged."""

    def come(self, seconds: float) -> None:
        """Let some come within so many seconds."""
        loop, chance = self._world.loop, self._chance
        for number in range(chance.choice([1, 2, 4])):
            id = f"{PREFIX}{number}"
            self._wanted[id] = (self._order(), self._world.readership.queue())
            for _ in range(1 + (chance.random() < self._world.rates.client_doubles)):
                loop.call_later(chance.random() * seconds, self._begin, id)
        for id in self._world.cut.tasks & self._wanted.keys():
            del self._wanted[id]
        for _ in range(chance.choice([0, 0, 1, 2])):
            loop.call_later(chance.random() * seconds, self._babble, chance.choice(NONSENSE))

    async def insist(self) -> None:
        """Post again whatever was not acknowledged."""
        for id in self._wanted:
            while id not in self._posted:
                await self._post(self._world.office, id)

    async def mend(self) -> None:
        """Put back dead letters that can be accepted: each process that took them had died."""
        for letter in list(self._world.mirror.dead_letters.values()):
            if self._is_wanted(letter):
                self._world.trace.reached("a dead letter was put back")
                await self._world.office.store.operators.put_back([letter.number], "operator")

    @property
    def ids(self) -> list[str]:
        """Of all messages that are to become tasks, or never will."""
        return list(self._wanted)

    @property
    def is_at_rest(self) -> bool:
        """Whether every message has become what it can become."""
        mirror = self._world.mirror
        stands = any(message.queue == ADDRESS for message in mirror.messages.values())
        return not stands and not any(map(self._is_wanted, mirror.dead_letters.values()))

    def check_end(self) -> None:
        """As many tasks, and as many orders, as distinct messages that can be accepted."""
        mirror, trace = self._world.mirror, self._world.trace
        if not self.is_at_rest:
            trace.violated("S22", f"messages stand in {ADDRESS}, or wait as dead letters, at the end")
        tasks = {task.id for task in mirror.tasks.values()}
        dead = {message_id(letter.body) for letter in mirror.dead_letters.values()}
        for id, (order, _) in self._wanted.items():
            found = (id in tasks, id in mirror.orders, id in dead)
            trace.reached(f"a message that is {order.never or 'good'} came to its end")
            if found != (order.is_good, order.is_good, not order.is_good):
                trace.violated("S22", f"{id}: (task, order, dead letter) is {found}; it is {order}")

    def _order(self) -> SimulatedOrder:
        chance = self._chance
        return SimulatedOrder(
            policy=self._planner.policy() + chance.choice(["", "", ".inner"]),
            plan=self._planner.plan(),
            deadline=chance.choice([None, None, 20.0]),
            fails=chance.choice([0, 0, 0, 1, 2]),
            needs_calm=chance.random() < 0.1,
            never=chance.choice(NEVER) if chance.random() < 0.25 else None,
        )

    def _is_wanted(self, letter: LetterRow) -> bool:
        order = order_of(letter.body)
        return order is not None and order.is_good

    def _begin(self, id: str) -> None:
        if id not in self._wanted:
            return
        able = [process for process in self._world.processes.values() if process.started and not process.dead]
        process = self._chance.choice([*able, self._world.office])
        process.run(self._post(process, id))

    async def _post(self, process: SimulatedProcess, id: str) -> None:
        order, reply_to = self._wanted[id]
        try:
            async with asyncio.timeout(PATIENCE):
                await process.queues.post(QUEUE, msgspec.to_builtins(order), id=id, reply_to=reply_to)
        except (TimeoutError, TransportError) as error:
            self._world.trace.note("not posted", id, type(error).__name__)
            return
        except Refused as error:
            self._world.trace.violated("S1", f"{id} was refused by its queue: {error}")
            return
        self._posted.add(id)
        self._world.trace.note("posted", id)

    def _babble(self, body: bytes) -> None:
        office = self._world.office
        office.run(self._put(body))

    async def _put(self, body: bytes) -> None:
        try:
            await self._world.office.store.messages.put(ADDRESS, [(body, None)])
        except StoreError as error:
            self._world.trace.note("not put", type(error).__name__)
