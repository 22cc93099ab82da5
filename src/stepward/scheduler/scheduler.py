"""The Scheduler: one turn takes what came in, moves each touched task, and commits it all in one transaction.

What leaves the process (requests, answers to clients) leaves after the commit. An instance that was fenced, or that
cannot know what became of a commit, is over: whoever hosts it starts another under a new id.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator, Mapping

from stepward.clock import Environment
from stepward.errors import InstanceFenced, StoreUnavailable
from stepward.events import Observers
from stepward.model.agents import AgentHealth
from stepward.model.failures import FailureConverter, brief
from stepward.model.messages.requests import reply_queue
from stepward.model.records import History, Task
from stepward.model.states import TASK_ENDS, TaskState
from stepward.scheduler.admission.fair_share import Room
from stepward.scheduler.admission.windows import LOCAL, TRANSACTIONS, Windows
from stepward.scheduler.claiming import Claiming
from stepward.scheduler.commits import Commits, Misses
from stepward.scheduler.dispatch.dispatcher import Dispatcher
from stepward.scheduler.dispatch.local_steps import LocalSteps
from stepward.scheduler.local_submissions import Answered, LocalSubmissions
from stepward.scheduler.progress import ProgressUpdates
from stepward.scheduler.replies import ReceivedReplies, Replies
from stepward.scheduler.tasks.active_task import ActiveTask, StepId
from stepward.scheduler.tasks.active_tasks import ActiveTasks
from stepward.scheduler.tasks.phases import Phase
from stepward.scheduler.tasks.timers import TaskTimers
from stepward.scheduler.wakeup import Wakeup
from stepward.settings import Settings
from stepward.store.contract import OVERTAKEN, Change, SchedulerStore
from stepward.threads import Threads
from stepward.transport.contract import Transport
from stepward.workflow.registry import Registry

ITERATIONS_TO_ARRIVE = 3
"""Turns of the event loop in which a published reply reaches the Scheduler."""
SETTLE_LOOK = 0.005
"""Seconds between looks whether what came in is committed, or what was started is out, at the end."""
ON_ITS_WAY = 0.1
"""Seconds in which Agents of this process take what has just left for them."""
HAND_OUT_SECONDS = 1.0
"""How long Agents take requests on while a Scheduler that ends has some on their way."""
LOCAL_ROOM = Room(64)
"""For plain local steps; the store says how many transactional ones go on beside them."""
LOCAL_STEPS = "local steps"
"""How an instance names them among what it says of itself."""
UNREACHED = Room(0, is_barred=True)
"""Of an Agent to which no request gets through: what started for it would wait, and run out of time."""


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
        rooms: Mapping[str, Room],
        ended: Callable[[Task], None],
        told: Callable[[], None],
        gave_up: Callable[[], None],
        threads: bool = True,
        failures: FailureConverter | None = None,
    ) -> None:
        failures = failures or FailureConverter()
        self.instance = instance
        self._store = store
        self._settings = settings
        self._environment = environment
        self._observers = observers
        self._ended = ended
        self._told = told
        self._gave_up = gave_up
        self._has_told = False
        self._alarm = Wakeup()
        self._progress = ProgressUpdates(store, observers)
        self._replies = Replies(
            transport,
            reply_queue(instance),
            settings,
            registry.operations,
            environment,
            observers,
            self._alarm.stir,
            self._answer_ahead,
            self._progress.add,
        )
        self._in_hand: set[str] | None = None
        """The tasks whose changes are on their way into the store, while the turn waits for that."""
        self._agenda = TaskTimers()
        self._beside = {LOCAL: LOCAL_ROOM, TRANSACTIONS: Room(store.transactional_steps)}
        self._rooms = {**rooms, **self._beside}
        self._windows = Windows(self._rooms)
        self._local = LocalSteps(
            store,
            environment,
            self._replies.add,
            instance=instance,
            payload_bytes=settings.payload_bytes,
            threads=Threads(LOCAL_ROOM.requests, "local-step") if threads else None,
            failures=failures,
            observers=observers,
        )
        self._dispatcher = Dispatcher(
            transport,
            self._local,
            self._agenda,
            environment,
            observers,
            instance,
            now=store.now,
            held=lambda: self._active_tasks.tasks,
            is_coming=lambda uid: uid in self._reloads,
            changed=self._give_room,
        )
        self._active_tasks = ActiveTasks(
            registry, self._windows, self._agenda, self._dispatcher, settings, observers, failures
        )
        self._claiming = Claiming(
            store,
            self._active_tasks,
            self._windows,
            settings,
            environment,
            observers,
            instance=instance,
            served=list(registry.workflows),
        )
        self._commits = Commits(store, settings, environment, observers, instance)
        self._local_submissions = LocalSubmissions()
        self._misses = Misses()
        self._reloads: dict[str, Mapping[StepId, int]] = {}
        """The tasks that are to be read anew, and which of their requests are out."""
        self._hinted = True
        self._polled_at = 0.0
        self._cursor = 0
        self._taking = True
        self._turning = False
        self._is_fenced = False

    def hint(self) -> None:
        """The store was changed by somebody else: look soon."""
        self._hinted = True
        self._alarm.stir()

    def set_rooms(self, rooms: Mapping[str, Room]) -> None:
        """How many requests of this Scheduler each Agent takes."""
        self._rooms = {**rooms, **self._beside}
        self._give_room()

    @property
    def is_opening(self) -> bool:
        """Whether a window has yet to open: ``widen`` is to be called soon."""
        return self._windows.is_opening

    def widen(self) -> None:
        """Open by one step the windows that have room."""
        self._windows.widen()
        self._alarm.stir()

    def demand(self) -> dict[str, int]:
        """By Agent, the requests that are out and the steps that wait for room."""
        return self._windows.demand()

    def health(self) -> list[AgentHealth]:
        """How the local steps are doing; what does not stop is replaced, and beyond that takes up their room."""
        stuck = self._local.count_stuck()
        room = Room(LOCAL_ROOM.requests - min(LOCAL_ROOM.requests, max(0, stuck - LOCAL_ROOM.requests)))
        if room != self._beside[LOCAL]:
            self._beside[LOCAL] = room
            self.set_rooms(self._rooms)
        capacity, in_flight = LOCAL_ROOM.requests, self._local.in_flight
        return [AgentHealth(agent=LOCAL_STEPS, capacity=capacity, in_flight=in_flight, stuck=stuck)]

    @property
    def has_room(self) -> bool:
        """Whether a submission can be born claimed here: it overtakes nobody who waits for room."""
        return self._taking and self._room > 0 and not self._claiming.is_behind

    @property
    def _room(self) -> int:
        return self._settings.tasks_in_flight - self._active_tasks.busy - len(self._local_submissions)

    @property
    def held(self) -> int:
        """How many tasks are in memory."""
        return len(self._active_tasks.tasks)

    def holds(self, uid: str) -> bool:
        """Whether that task is in memory, and will be until its end is told or it is let go."""
        active = self._active_tasks.tasks.get(uid)
        return active is not None and not active.leaving

    def submit(self, task: Task) -> Answered:
        """Let a submission be born claimed, its first steps in the same commit; None: its id is taken."""
        answered = self._local_submissions.add(task)
        self._alarm.stir()
        return answered

    async def run(self) -> None:
        """Turn until cancelled. Raises InstanceFenced or CommitUnknown when this instance is over."""
        pump = asyncio.get_running_loop().create_task(self._replies.pump())
        pump.add_done_callback(lambda _: self._alarm.stir())
        try:
            while True:
                if pump.done():
                    pump.result()  # it ends by a bug alone
                try:
                    delay = await self.turn()
                except StoreUnavailable as error:
                    self._observers.tell("store.unavailable", error=str(error))
                    delay = self._settings.poll
                await self._alarm.sleep(delay)
        finally:
            pump.cancel()
            await asyncio.gather(pump, return_exceptions=True)
            await self._progress.stop()
            await self._local.stop()
            await self._dispatcher.stop()
            self._active_tasks.forget_all()
            self._local_submissions.end()

    def stop_taking(self) -> None:
        """Claim nothing and start nothing more: what is under way may end, the next owner goes on from there."""
        self._taking = False
        self._claiming.stop()
        self._windows.set_rooms({})

    def fence(self) -> None:
        """This instance was declared dead: end the run with InstanceFenced."""
        self._is_fenced = True
        self._alarm.stir()

    async def hand_out(self) -> None:
        """Wait, after ``stop_taking``, until what was started is with Agents: those that drain would leave it."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(min(self._settings.drain, HAND_OUT_SECONDS)):
                while self._turning or self._dispatcher.is_sending:  # noqa: ASYNC110 - nothing tells of both ends
                    await asyncio.sleep(SETTLE_LOOK)
                await asyncio.sleep(ON_ITS_WAY if self._active_tasks.tasks else 0)

    async def settle(self) -> None:
        """Wait, no longer than the drain's grace, until what came in is committed."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._settings.drain):
                for _ in range(ITERATIONS_TO_ARRIVE):
                    await asyncio.sleep(0)
                while self._turning or self._replies or self._local_submissions or self._active_tasks.touched:
                    self._alarm.stir()
                    await asyncio.sleep(SETTLE_LOOK)

    async def turn(self) -> float:
        """One bounded piece of work; the seconds until the next one is due."""
        self._turning = True
        try:
            return await self._turn()
        finally:
            self._turning = False

    async def _turn(self) -> float:
        if self._is_fenced:
            raise InstanceFenced(f"instance {self.instance}: expected a lease, found it declared dead")
        now = self._store.now()
        await self._reload()
        await self._hear(now)
        self._bear(now)
        for reply, committed_at in self._replies.take():
            self._active_tasks.answer(reply, committed_at, now)
        self._active_tasks.strike(now)
        self._active_tasks.make_room(now)
        if self._taking:
            self._active_tasks.tell_starved(now)
        self._active_tasks.evict(now)
        self._active_tasks.close(now)
        await self._commit()
        return self._delay()

    async def _hear(self, now: float) -> None:
        """Inbox rows and free tasks, when there is a hint or at the slow poll; idle, this costs two reads."""
        if self._hinted or now - self._polled_at >= self._settings.poll:
            self._hinted = False
            self._polled_at = now
            if self._active_tasks.tasks:
                await self._read_inbox(now)
            await self._claiming.look()
        await self._claiming.claim(self._room, now)

    async def _read_inbox(self, now: float) -> None:
        rows = await self._store.read_inbox(self.instance, self._cursor)
        for row in rows:
            self._cursor = max(self._cursor, row.number)
            active = self._active_tasks.tasks.get(row.task)
            if active is not None:
                self._active_tasks.hear(active, row, now)

    def _bear(self, now: float) -> None:
        for task in self._local_submissions.begin(self.instance, now):
            self._active_tasks.admit(History(task, [], []), now, is_birth=True)

    async def _commit(self) -> None:
        active_tasks = self._active_tasks
        touched, active_tasks.touched = list(active_tasks.touched.values()), {}
        heard = self._replies.heard()
        self._dispatcher.seal()
        with self._working_ahead(touched):
            missed = await self._commits.commit(touched)
        for active in touched:
            self._conclude(active, missed.get(active.task.uid))
        self._misses.forget(active.task.uid for active in touched if active.task.uid not in missed)
        if self._has_told:
            self._has_told = False
            self._told()
        self._dispatcher.send()
        await self._after(touched, heard)

    @contextlib.contextmanager
    def _working_ahead(self, touched: list[ActiveTask]) -> Iterator[None]:
        """While others have the turn's work in hand, begin the next turn with what comes in for all but these."""
        self._in_hand = {active.task.uid for active in touched}
        try:
            yield
        finally:
            self._in_hand = None

    def _answer_ahead(self) -> None:
        if self._in_hand is not None:
            now = self._store.now()
            for reply, committed_at in self._replies.take_but(self._in_hand):
                self._active_tasks.answer(reply, committed_at, now)

    async def _after(self, touched: list[ActiveTask], heard: ReceivedReplies) -> None:
        # First of all: a store or queue that fails below must not make this memory forget what it holds.
        self._reloads |= {active.task.uid: active.sent for active in touched if active.phase is Phase.RELOADING}
        if strays := self._active_tasks.strays:
            await self._store.stray(strays)
            self._active_tasks.strays = []
        await self._replies.settle(heard)
        await self._reload()

    async def _reload(self) -> None:
        """Read anew what missed, or turned round."""
        if not self._reloads:
            return
        histories = await self._store.load(self.instance, list(self._reloads))
        sent, self._reloads = self._reloads, {}
        now = self._store.now()
        for history in histories:
            reason = self._misses.exhausted(history.task.uid)
            if reason is None:
                self._active_tasks.admit(history, now, sent=sent[history.task.uid])
            else:
                self._active_tasks.give_up(history, reason, now)

    def _conclude(self, active: ActiveTask, missed: str | None) -> None:
        """The resident's change is durable, or it missed and the task is read anew."""
        if missed is not None:
            self._miss(active, missed)
            return
        if active.change is not None:
            self._note(active.change, active.task)
        if active.unheard:
            self._replies.again(active.unheard)
        if active.overflow and not active.leaving:
            self._active_tasks.touched[active.task.uid] = active
        self._active_tasks.committed(active)
        if active.leaving:
            self._active_tasks.forget(active)
            if active.task.state in TASK_ENDS:
                self._tell_end(active.task)

    def _note(self, change: Change, task: Task) -> None:
        """What a change that is durable leaves to be done."""
        if change.posts or change.children:
            # No hint tells of what this very connection put into inboxes or began.
            self._hinted = True
        if change.telling is not None:
            self._has_told = True
        if change.watches and any(watch.error is not None for watch in change.watches):
            self._gave_up()
        if change.born is not None:
            self._local_submissions.done(task)

    def _miss(self, active: ActiveTask, reason: str) -> None:
        self._active_tasks.forget(active)
        if self._local_submissions.missed(active.task, reason):
            active.enter(Phase.RELEASED)
            return
        if reason != OVERTAKEN:
            self._misses.count(active.task.uid, reason)
        self._observers.tell("task.missed", task=active.task.id, reason=reason)
        active.enter(Phase.RELOADING)
        self._replies.again((*active.replies, *active.unheard))

    def _tell_end(self, task: Task) -> None:
        self._ended(task)
        if self._observers.listening:
            told = brief(task.error) if task.state is TaskState.ERROR else {}
            self._observers.tell(f"task.{task.state}", task=task.id, workflow=task.workflow, **told)

    def _give_room(self) -> None:
        if self._taking:
            self._windows.set_rooms({**self._rooms, **dict.fromkeys(self._dispatcher.unreached, UNREACHED)})
        self._alarm.stir()

    def _delay(self) -> float:
        """Seconds until something is due; 0 when there is more to do at once."""
        if self._active_tasks.touched or self._replies or self._local_submissions or self._hinted:
            return 0.0
        now = self._store.now()
        instants = [self._polled_at + self._settings.poll]
        known = (self._agenda.next(), self._active_tasks.waiting.next_look(now), self._claiming.next_look(self._room))
        instants.extend(instant for instant in known if instant is not None)
        return max(0.0, min(instants) - now)
