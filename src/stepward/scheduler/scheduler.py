"""The Scheduler: one turn takes what came in, moves each touched task, and commits it all in one transaction.

What leaves the process (requests, answers to clients) leaves after the commit. An instance that was fenced, or that
cannot know what became of a commit, is over: whoever hosts it starts another under a new id.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable, Mapping

from stepward.clock import Environment
from stepward.errors import InstanceFenced, StoreUnavailable, TransportError
from stepward.events import Observers
from stepward.model.messages import Reply, reply_queue
from stepward.model.records import History, Task
from stepward.model.states import TASK_ENDS
from stepward.scheduler.agenda import Agenda
from stepward.scheduler.commits import UNAVAILABLE, Commits, Misses
from stepward.scheduler.desk import LOCAL, Desk
from stepward.scheduler.dispatch import Dispatcher
from stepward.scheduler.ends import Ends
from stepward.scheduler.forward import Forward
from stepward.scheduler.inbox import Inbox
from stepward.scheduler.local import LocalSteps
from stepward.scheduler.rehearsal import Rehearsal
from stepward.scheduler.residence import Residence, born
from stepward.scheduler.resident import Resident
from stepward.scheduler.unwinding import Unwinding
from stepward.settings import Settings
from stepward.store.contract import SchedulerStore, Submitted
from stepward.transport.contract import Delivery, Transport
from stepward.workflow.registry import Registry

TAKE = 5000
"""Replies taken from the queue at once, and submissions born in one turn."""
ITERATIONS_TO_ARRIVE = 3
"""Turns of the event loop in which a published reply reaches the Scheduler."""
SETTLE_LOOK = 0.005
"""Seconds between looks whether what came in is committed, at the end."""
LOCAL_STEPS = 64
"""Local steps that run at once."""


class Scheduler:
    """Arranges the steps of the tasks that it holds; it knows no business, only what the engine decides."""

    def __init__(
        self,
        store: SchedulerStore,
        transport: Transport,
        registry: Registry,
        *,
        instance: str,
        settings: Settings,
        environment: Environment,
        observers: Observers,
        capacities: Mapping[str, int],
        ended: Callable[[Task], None],
        threads: bool = True,
    ) -> None:
        self.instance = instance
        self._store = store
        self._transport = transport
        self._settings = settings
        self._environment = environment
        self._observers = observers
        self._ended = ended
        self._served = list(registry.workflows)
        self._agenda = Agenda()
        self._desk = Desk({**capacities, LOCAL: LOCAL_STEPS})
        self._local = LocalSteps(
            store,
            environment,
            self._answer_local,
            instance=instance,
            payload_bytes=settings.payload_bytes,
            threads=threads,
        )
        self._dispatcher = Dispatcher(transport, self._local, self._agenda, environment, observers, instance)
        ends = Ends(self._desk, settings)
        forward = Forward(registry, self._desk, settings, ends, self._dispatcher.start)
        unwinding = Unwinding(registry, self._desk, ends, forward.ask)
        self._residence = Residence(
            forward=forward,
            unwinding=unwinding,
            inbox=Inbox(forward, unwinding, ends),
            ends=ends,
            desk=self._desk,
            agenda=self._agenda,
            dispatcher=self._dispatcher,
            rehearsal=Rehearsal(registry, observers, enabled=settings.replay_check),
            settings=settings,
        )
        self._commits = Commits(store, settings, environment, observers, instance)
        self._replies: deque[tuple[Reply, float | None]] = deque()
        self._deliveries: list[Delivery] = []
        self._births: deque[tuple[Task, asyncio.Future[Submitted | None]]] = deque()
        self._bearing: dict[str, asyncio.Future[Submitted | None]] = {}
        self._wake: asyncio.Future[None] | None = None
        self._hinted = True
        self._polled_at = 0.0
        self._free_at: float | None = None
        self._cursor = 0
        self._taking = True
        self._is_fenced = False
        self._reloads: list[str] = []
        self._misses = Misses()

    def hint(self) -> None:
        """The store was changed by somebody else: look soon."""
        self._hinted = True
        self._stir()

    def set_capacities(self, capacities: Mapping[str, int]) -> None:
        """How many requests the Agents' live instances take in all."""
        if self._taking:
            self._desk.set_capacities({**capacities, LOCAL: LOCAL_STEPS})
            self._stir()

    @property
    def has_room(self) -> bool:
        """Whether a submission can be born claimed here."""
        return self._taking and self._residence.active + len(self._births) < self._settings.tasks_in_flight

    @property
    def held(self) -> int:
        """How many tasks are in memory."""
        return len(self._residence.tasks)

    def submit(self, task: Task) -> asyncio.Future[Submitted | None]:
        """Let a submission be born claimed, its first steps in the same commit; None: its id is taken."""
        future: asyncio.Future[Submitted | None] = asyncio.get_running_loop().create_future()
        self._births.append((task, future))
        self._stir()
        return future

    async def run(self) -> None:
        """Turn until cancelled. Raises InstanceFenced or CommitUnknown when this instance is over."""
        pump = asyncio.get_running_loop().create_task(self._pump())
        try:
            while True:
                try:
                    delay = await self.turn()
                except StoreUnavailable as error:
                    self._observers.tell("store.unavailable", error=str(error))
                    delay = self._settings.poll
                if delay > 0:
                    await self._sleep(delay)
                else:
                    await asyncio.sleep(0)
        finally:
            pump.cancel()
            await asyncio.gather(pump, return_exceptions=True)
            await self._local.stop()
            self._residence.forget_all()
            self._refuse_births()

    def stop_taking(self) -> None:
        """Claim nothing and start nothing more: what is under way may end, the next owner goes on from there."""
        self._taking = False
        self._desk.set_capacities({})

    def fence(self) -> None:
        """This instance was declared dead: end the run with InstanceFenced."""
        self._is_fenced = True
        self._stir()

    async def settle(self) -> None:
        """Wait, no longer than the drain's grace, until what came in is committed."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._settings.drain):
                for _ in range(ITERATIONS_TO_ARRIVE):
                    await asyncio.sleep(0)
                while self._replies or self._births or self._residence.touched:
                    self._stir()
                    await asyncio.sleep(SETTLE_LOOK)

    async def turn(self) -> float:
        """One bounded piece of work; the seconds until the next one is due."""
        if self._is_fenced:
            raise InstanceFenced(f"instance {self.instance}: expected a lease, found it declared dead")
        now = self._store.now()
        await self._reload()
        await self._hear(now)
        births = self._bear(now)
        self._answer(now)
        self._residence.strike(now)
        self._residence.make_room(now)
        self._residence.evict(now)
        self._residence.close(now)
        await self._commit(births)
        return self._delay()

    async def _hear(self, now: float) -> None:
        """Inbox rows and free tasks, when there is a hint or at the slow poll; idle, this costs two reads."""
        if self._hinted or now - self._polled_at >= self._settings.poll:
            self._hinted = False
            self._polled_at = now
            if self._residence.tasks:
                await self._read_inbox(now)
            self._free_at = await self._store.next_wake() if self._taking else None
        if self._free_at is not None and self._free_at <= now and self.has_room:
            await self._claim(now)

    async def _read_inbox(self, now: float) -> None:
        rows = await self._store.read_inbox(self.instance, self._cursor)
        for row in rows:
            self._cursor = max(self._cursor, row.number)
            resident = self._residence.tasks.get(row.task)
            if resident is not None:
                self._residence.hear(resident, row, now)

    async def _claim(self, now: float) -> None:
        room = self._settings.tasks_in_flight - self._residence.active
        limit = min(room, self._settings.commit_rows)
        self._environment.failpoint("W2.before")
        histories = await self._store.claim(self.instance, self._served, limit)
        self._environment.failpoint("W2.after")
        for history in histories:
            self._residence.admit(history, now)
        if len(histories) < limit:
            self._free_at = None
            # A task that nobody here serves stays free; the poll, not this turn, looks again.

    def _bear(self, now: float) -> dict[str, asyncio.Future[Submitted | None]]:
        births = self._bearing = {}
        while self._births and len(births) < TAKE:
            task, future = self._births.popleft()
            if future.cancelled():
                continue
            births[task.uid] = future
            resident = self._residence.admit(History(born(task, self.instance, now), [], []), now)
            resident.changed().born = resident.task
        return births

    def _answer(self, now: float) -> None:
        answer = self._residence.answer
        replies = self._replies
        while replies:
            reply, committed_at = replies.popleft()
            answer(reply, committed_at, now)

    async def _commit(self, births: dict[str, asyncio.Future[Submitted | None]]) -> None:
        residence = self._residence
        touched, residence.touched = list(residence.touched.values()), {}
        settling, self._deliveries = self._deliveries, []
        self._dispatcher.seal()
        missed = await self._commits.commit(touched)
        for resident in touched:
            self._conclude(resident, missed.get(resident.task.uid), births)
        await self._dispatcher.send(self._store.now(), self._is_held)
        await self._after(touched, settling)

    async def _after(self, touched: list[Resident], settling: list[Delivery]) -> None:
        # First of all: a store or queue that fails below must not make this memory forget what it holds.
        self._reloads += [resident.task.uid for resident in touched if resident.reload]
        if self._residence.strays:
            strays, self._residence.strays = self._residence.strays, []
            await self._store.stray(strays)
        if settling:
            await self._settle(settling)
        await self._reload()

    async def _settle(self, settling: list[Delivery]) -> None:
        self._environment.failpoint("W7.before")
        try:
            await self._transport.settle(reply_queue(self.instance), settling)
        except TransportError as error:
            # They come again, and change nothing.
            self._observers.tell("scheduler.settle_failed", error=str(error))

    async def _reload(self) -> None:
        """Read anew what missed, or turned round."""
        if not self._reloads:
            return
        histories = await self._store.load(self.instance, self._reloads)
        self._reloads = []
        now = self._store.now()
        for history in histories:
            reason = self._misses.exhausted(history.task.uid)
            if reason is None:
                self._residence.admit(history, now)
            else:
                self._residence.give_up(history, reason, now)

    def _conclude(
        self,
        resident: Resident,
        missed: str | None,
        births: dict[str, asyncio.Future[Submitted | None]],
    ) -> None:
        """The resident's change is durable, or it missed and the task is read anew."""
        birth = births.get(resident.task.uid)
        if missed is not None:
            self._miss(resident, missed, birth)
            return
        self._note(resident)
        self._residence.committed(resident)
        self._misses.forget(resident.task.uid)
        if birth is not None and not birth.done():
            birth.set_result(Submitted(resident.task.uid, resident.task.id, True, True))
        if resident.leaving:
            self._residence.forget(resident)
            if resident.task.state in TASK_ENDS:
                self._tell_end(resident.task)

    def _note(self, resident: Resident) -> None:
        """What a change that is durable leaves to be done."""
        change = resident.change
        if change is not None and (change.posts or change.children):
            # No hint tells of what this very connection put into inboxes or began.
            self._hinted = True
        self._replies.extend((reply, None) for reply in resident.unheard)
        if resident.overflow and not resident.leaving:
            self._residence.touched[resident.task.uid] = resident

    def _miss(self, resident: Resident, reason: str, birth: asyncio.Future[Submitted | None] | None) -> None:
        self._residence.forget(resident)
        if birth is not None:
            resident.reload = False
            _refuse(birth, reason)
            return
        self._misses.count(resident.task.uid, reason)
        self._observers.tell("task.missed", task=resident.task.id, reason=reason)
        resident.reload = True
        resident.leaving = True
        self._replies.extend((reply, None) for reply in (*resident.replies, *resident.unheard))

    def _tell_end(self, task: Task) -> None:
        self._ended(task)
        if self._observers.listening:
            self._observers.tell(f"task.{task.state}", task=task.id, workflow=task.workflow)

    def _is_held(self, resident: Resident) -> bool:
        return self._residence.tasks.get(resident.task.uid) is resident and not resident.leaving

    def _answer_local(self, reply: Reply, committed_at: float | None) -> None:
        self._replies.append((reply, committed_at))
        self._stir()

    async def _pump(self) -> None:
        """Bring replies from the queue; the turn drains them."""
        queue = reply_queue(self.instance)
        while True:
            try:
                deliveries = await self._transport.take(queue, TAKE, self._settings.lease)
            except TransportError as error:
                self._observers.tell("scheduler.take_failed", error=str(error))
                await asyncio.sleep(self._settings.poll)
                continue
            for delivery in deliveries:
                if isinstance(delivery.message, Reply):
                    self._replies.append((delivery.message, None))
            self._deliveries += deliveries
            self._stir()

    def _refuse_births(self) -> None:
        """Whoever submits asks the store instead: a birth whose commit gave no answer is found there by its id."""
        for future in (*self._bearing.values(), *(future for _, future in self._births)):
            if not future.done():
                future.set_result(None)
        self._births.clear()

    def _delay(self) -> float:
        """Seconds until something is due; 0 when there is more to do at once."""
        if self._residence.touched or self._replies or self._births or self._hinted:
            return 0.0
        now = self._store.now()
        instants = [self._polled_at + self._settings.poll]
        if self.has_room and self._free_at is not None:
            instants.append(self._free_at)
        known = (self._agenda.next(), self._residence.waiting.next_look(now))
        instants.extend(instant for instant in known if instant is not None)
        return max(0.0, min(instants) - now)

    async def _sleep(self, delay: float) -> None:
        loop = asyncio.get_running_loop()
        self._wake = loop.create_future()
        timer = loop.call_later(delay, self._stir)
        try:
            await self._wake
        finally:
            timer.cancel()
            self._wake = None

    def _stir(self) -> None:
        if self._wake is not None and not self._wake.done():
            self._wake.set_result(None)


def _refuse(birth: asyncio.Future[Submitted | None], reason: str) -> None:
    if birth.done():
        return
    if reason.startswith(UNAVAILABLE):
        birth.set_exception(StoreUnavailable(reason))
    else:
        birth.set_result(None)
