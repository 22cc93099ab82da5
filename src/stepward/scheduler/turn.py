"""One turn: replies become tasks that move, tasks become changes, changes one commit, and then what started leaves."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from stepward.errors import InstanceFenced, StoreUnavailable
from stepward.model.records import Step
from stepward.scheduler.admission.windows import Windows
from stepward.scheduler.agent_replies.replies import Replies
from stepward.scheduler.agent_replies.reply_settlement import ReplySettlement
from stepward.scheduler.commits import Commits, Conclusions
from stepward.scheduler.context import SchedulerContext
from stepward.scheduler.dispatch.dispatcher import Dispatcher, StepStarts
from stepward.scheduler.intake import Intake
from stepward.scheduler.tasks.active_task import ActiveTask
from stepward.scheduler.tasks.phases import Phase
from stepward.scheduler.tasks.task_cache import ActiveTasks
from stepward.scheduler.tasks.task_inputs import Incoming
from stepward.scheduler.tasks.turn_end import Closing
from stepward.scheduler.turn_budget import TurnBudget
from stepward.scheduler.turn_meter import TurnMeter
from stepward.store.contract import SchedulerStore


class Turn:
    """Carries one turn through; nothing of it is left behind but what the tasks in memory say."""

    def __init__(
        self,
        store: SchedulerStore,
        intake: Intake,
        replies: Replies,
        settlement: ReplySettlement,
        active_tasks: ActiveTasks,
        incoming: Incoming,
        closing: Closing,
        starts: StepStarts,
        commits: Commits,
        conclusions: Conclusions,
        dispatcher: Dispatcher,
        windows: Windows,
        budget: TurnBudget,
        meter: TurnMeter,
    ) -> None:
        self._store = store
        self._windows = windows
        self._intake = intake
        self._replies = replies
        self._settlement = settlement
        self._active_tasks = active_tasks
        self._timers = active_tasks.timers
        self._incoming = incoming
        self._closing = closing
        self._starts = starts
        self._commits = commits
        self._conclusions = conclusions
        self._dispatcher = dispatcher
        self._budget = budget
        self._meter = meter
        self._observers = meter.observers

    async def run(self) -> None:
        """Take in what there is, move the tasks that it touches, commit, and let out what was started."""
        now = self._store.now()
        if self._observers.measuring:
            self._meter.turn_begins()
        await self._intake.reload()
        self._budget.until, self._budget.is_cut = None, False
        await self._intake.take(now)
        self._move(now)
        touched = self._active_tasks.touched
        while cut := [a for a in touched.values() if not a.leaving and a.execution is not None and a.execution.is_cut]:
            await self._go_on(cut, now)
        revoked = self._closing.close(now)
        if self._closing.is_long:
            await asyncio.sleep(0)
        await self._commit(revoked)

    @property
    def failed_at(self) -> float | None:
        """When the last commit failed because the store was not available; None if it did not."""
        return self._commits.failed_at

    @property
    def is_behind(self) -> bool:
        """Whether tasks that were touched, or replies, wait for the next turn."""
        return bool(self._active_tasks.touched or self._replies.waiting or self._active_tasks.reloads)

    def delay(self) -> float:
        """Seconds until the next turn is due; 0 when there is more to do at once."""
        if self._budget.is_cut or self.is_behind or self._intake.has_more:
            return 0.0
        now, until = self._store.now(), self._intake.next_look()
        for instant in (self._timers.next(), self._active_tasks.waiting.next_look(now)):
            if instant is not None and instant < until:
                until = instant
        return max(0.0, until - now)

    def _move(self, now: float) -> None:
        if self._replies.waiting:
            for each in self._replies.take(self._budget):
                self._incoming.answer(each.reply, each.committed_at, now)
        for uid in self._timers.due(now, self._budget):
            self._incoming.strike(uid, now)
        for active, step_id, attempt in self._timers.unanswered(now, self._active_tasks.tasks):
            self._incoming.watch(active, step_id, attempt)
        for place in self._windows.ready(self._budget):
            self._incoming.start(place, now)
        if self._intake.is_open:
            for agent, place in self._windows.starved(now):
                self._incoming.alert_starved(agent, place, now)
        self._closing.evict(now)

    async def _go_on(self, cut: Sequence[ActiveTask], now: float) -> None:
        """Have workflows that ask for very much run on, a slice each; nothing else of the turn is done meanwhile."""
        for active in cut:
            await asyncio.sleep(0)
            self._incoming.go_on(active, now)

    async def _commit(self, revoked: Sequence[Step]) -> None:
        touched = self._active_tasks.take_touched()
        if self._observers.measuring:
            self._meter.commit_begins()
        # A queue keeps what it delivered until all of it is durable: what waits for a later turn came with the rest.
        is_through = self._settlement.deliveries and not self._replies.from_queue
        received = self._settlement.received() if is_through else None
        started = self._starts.begin_commit()
        try:
            enclosed = self._dispatcher.enclose(started)
            missed = await self._commits.commit(touched)
        finally:
            self._starts.end_commit()
        if self._observers.measuring:
            self._meter.committed(touched, missed)
        self._conclusions.draw(touched, missed)
        self._dispatcher.send(started, revoked, enclosed)
        # First of all: a store or queue that fails below must not make this memory forget what it holds.
        self._active_tasks.reloads |= {a.task.uid: a.sent or {} for a in touched if a.phase is Phase.RELOADING}
        if self._active_tasks.closing:
            await self._active_tasks.close_forgotten()
        if strays := self._active_tasks.strays:
            await self._store.settle_misrouted(strays)
            self._active_tasks.strays = []
        if received is not None:
            await self._settlement.settle(received)
        await self._intake.reload()


class TurnLoop:
    """Runs turns one after the other, and sleeps between two until the next is due or something has come in."""

    def __init__(self, context: SchedulerContext, wakeup: Wakeup, turn: Turn) -> None:
        self._instance = context.instance
        self._poll = context.settings.poll
        self._observers = context.observers
        self._now = context.store.now
        self._wakeup = wakeup
        self._turn = turn
        self.is_turning = False
        """Whether a turn is under way."""
        self._cut_off_at: float | None = None
        """When the last turn could not read the store, by the store's clock; None if it could."""
        self.is_fenced = False
        """Whether the instance was declared dead: no further turn may begin."""

    @property
    def is_behind(self) -> bool:
        """Whether tasks that were touched, or replies, wait for the next turn."""
        return self._turn.is_behind

    @property
    def failed_at(self) -> float | None:
        """When the last commit, or the last read of a turn, failed because the store was not available."""
        return self._turn.failed_at or self._cut_off_at

    async def run(self, pump: asyncio.Task[None]) -> None:
        """Turn until cancelled, or until the receiving of replies in ``pump`` ends, which it does by a bug alone.

        Raises InstanceFenced or CommitUnknown when this instance is over.
        """
        while True:
            if pump.done():
                pump.result()
            try:
                delay = await self._next()
                self._cut_off_at = None
            except StoreUnavailable as error:
                self._cut_off_at = self._now()
                self._observers.emit("store.unavailable", error=str(error))
                delay = self._poll
            await self._wakeup.sleep(delay)

    async def _next(self) -> float:
        """One turn; the seconds until the next one is due."""
        self.is_turning = True
        try:
            if self.is_fenced:
                raise InstanceFenced(f"instance {self._instance}: expected a lease, found it declared dead")
            await self._turn.run()
            return self._turn.delay()
        finally:
            self.is_turning = False


class Wakeup:
    """The sleep of a Scheduler between two turns, which ends at its time or earlier.

    One timer serves all sleeps: most end long before their time.
    """

    def __init__(self) -> None:
        self._waking: asyncio.Future[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._until = 0.0
        """The time at which the present sleep ends, by the event loop's clock."""

    async def sleep(self, seconds: float) -> None:
        """Sleep that long, or until stirred; not at all gives way to others once."""
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        loop = asyncio.get_running_loop()
        self._waking = loop.create_future()
        self._until = loop.time() + seconds
        if self._timer is None or self._until < self._timer.when():
            self._set_timer(loop)
        try:
            await self._waking
        finally:
            self._waking = None

    def stir(self) -> None:
        """Wake the sleeper, if it sleeps."""
        if self._waking is not None and not self._waking.done():
            self._waking.set_result(None)

    def close(self) -> None:
        """Let go of the timer."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _set_timer(self, loop: asyncio.AbstractEventLoop) -> None:
        self.close()
        self._timer = loop.call_at(self._until, self._ring, loop)

    def _ring(self, loop: asyncio.AbstractEventLoop) -> None:
        timer, self._timer = self._timer, None
        # By the time of the timer, for a clock may be a rounding error short of it as it rings.
        if timer is not None and self._until <= timer.when():
            self.stir()
        elif self._waking is not None:
            self._set_timer(loop)
