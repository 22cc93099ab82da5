"""The intake of a turn beside replies: submissions of this process, inbox rows, free tasks, tasks to be read again."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from stepward.errors import StoreUnavailable
from stepward.model.limits.flow_limit import WORKFLOW, FlowLimit
from stepward.model.messages.change_kinds import INBOX, TASKS, Kinds
from stepward.model.records import InboxRow, Task
from stepward.model.states import TaskState
from stepward.scheduler.claiming import Claiming
from stepward.scheduler.context import SchedulerContext
from stepward.scheduler.tasks.active_task import ActiveTask
from stepward.scheduler.tasks.advance import Advance
from stepward.scheduler.tasks.inbox import Inbox
from stepward.scheduler.tasks.records.former_runs import TRIMS
from stepward.scheduler.tasks.records.loading import TaskLoader
from stepward.scheduler.tasks.records.replay_check import ReplayCheck
from stepward.scheduler.tasks.task_cache import ActiveTasks, Misses
from stepward.scheduler.tasks.transitions import Transitions
from stepward.scheduler.turn_budget import MOST, PIECE, TURN_BYTES, TurnBudget
from stepward.store.contract import INBOX_ROWS, Submitted
from stepward.workflow.registry import Registry

ITS_KINDS = INBOX | TASKS
"""The changes of the store that a Scheduler looks for itself; replies come by the transport."""
Answered = asyncio.Future[Submitted | None]
"""None: the task was not submitted here; the client asks the store."""
LOADED_AT_ONCE = 100
"""Most tasks that are read again at once."""
UNAVAILABLE = "the store is unavailable: "
"""How the reason starts for a submission that could not be written."""


class Intake:
    """Reads the store when there is a hint or at the slow poll, and knows how many tasks there is room for."""

    def __init__(
        self,
        context: SchedulerContext,
        active_tasks: ActiveTasks,
        loader: TaskLoader,
        forward: Advance,
        ends: Transitions,
        replay_check: ReplayCheck,
        inbox: Inbox,
        claiming: Claiming,
        local_submissions: LocalSubmissions,
        misses: Misses,
        budget: TurnBudget,
    ) -> None:
        self._store = context.store
        self._instance = context.instance
        self._settings = context.settings
        self._active_tasks = active_tasks
        self._loader = loader
        self._forward = forward
        self._ends = ends
        self._replay_check = replay_check
        self._inbox = inbox
        self._claiming = claiming
        self._local_submissions = local_submissions
        self._misses = misses
        self._budget = budget
        self._polled_at = 0.0
        self._cursor = 0
        self._rows: deque[InboxRow] = deque()
        """Inbox rows that were read and wait for a turn."""
        self.is_open = True
        """Whether free tasks are claimed."""
        self._hinted: Kinds = ITS_KINDS
        """The kinds of changes that the store may hold unread."""
        self.limited = frozenset[str]()
        """The workflows whose tasks need a permit, which they get when they are claimed."""
        self.set_limits(context.registry.limits())

    def set_limits(self, limits: Sequence[FlowLimit]) -> None:
        """The limits of workflows that are in force."""
        self.limited = frozenset(limit.name.removeprefix(WORKFLOW) for limit in limits)
        self._claiming.has_rates = any(limit.rate is not None for limit in limits)

    def close(self) -> None:
        """Claim nothing more."""
        self.is_open = False
        self._claiming.stop()

    def hint(self, kinds: Kinds) -> None:
        """The store may hold something new of these kinds."""
        self._hinted |= kinds & ITS_KINDS

    @property
    def is_hinted(self) -> bool:
        """Whether the store may hold something new for this Scheduler."""
        return self._hinted != 0

    @property
    def has_room(self) -> bool:
        """Whether a submission can be claimed here at once: no task that waits for room is overtaken."""
        return self.is_open and self._room > 0 and not self._claiming.is_behind

    @property
    def _room(self) -> int:
        return self._settings.tasks_in_flight - self._active_tasks.busy - len(self._local_submissions)

    @property
    def has_more(self) -> bool:
        """Whether there is something to take in at once."""
        return self._hinted != 0 or bool(self._rows) or len(self._local_submissions) > 0

    def next_look(self) -> float:
        """When the store is to be read at the latest."""
        poll = self._polled_at + self._settings.poll
        if self._claiming.free_at is None:
            return poll
        claim = self._claiming.next_look(self._room)
        return poll if claim is None else min(poll, claim)

    async def take(self, now: float) -> None:
        """Inbox rows and free tasks, when there is a hint or at the slow poll; idle, this costs two reads."""
        if now - self._polled_at >= self._settings.poll:
            self._hinted = ITS_KINDS
        if self._hinted:
            await self._look(now)
        if self._claiming.free_at is not None:
            await self._claiming.claim(self._room, now)
        if self._rows:
            self._hand_out(now)
        for task in self._local_submissions.begin(self._instance, now, self._budget):
            self._begin(task, now)

    async def reload(self) -> None:
        """Read again what missed, or goes on in another direction."""
        reloads = self._active_tasks.reloads
        if not reloads:
            return
        tasks = list(islice(reloads, LOADED_AT_ONCE))
        are_long = any(len(reloads[task]) > MOST for task in tasks)
        histories = await self._store.load(self._instance, tasks, are_long=are_long)
        sent = {task: reloads.pop(task) for task in tasks}
        now = self._store.now()
        for history in histories:
            reason = self._misses.exhausted(history.task.uid)
            if reason is None:
                self._loader.admit(history, now, sent=sent[history.task.uid])
            else:
                self._loader.give_up(history, reason, now)
        if are_long or len(histories) > PIECE:
            await asyncio.sleep(0)

    def _begin(self, task: Task, now: float) -> None:
        """Begin a task that was submitted in this process: it has no record yet."""
        active = ActiveTask(task)
        self._active_tasks.hold(active)
        active.trims = TRIMS
        active.changed().born = task
        self._forward.plan(active)
        active.report_submission(now)
        if self._replay_check.is_enabled:
            self._replay_check.begin(task, [])
        try:
            self._forward.begin_run(active, now)
        except BaseException as error:
            self._ends.internal(active, error, now)

    async def _look(self, now: float) -> None:
        hinted, self._hinted = self._hinted, 0
        if hinted == ITS_KINDS:
            self._polled_at = now
        if hinted & INBOX:
            if self._rows:
                # What the hint was about is read once these are handed out.
                self._hinted |= INBOX
            elif self._active_tasks.tasks:
                await self._read_inbox()
        if hinted & TASKS:
            await self._claiming.look()

    async def _read_inbox(self) -> None:
        self._rows.extend(await self._store.read_inbox(self._instance, self._cursor))
        for row in self._rows:
            self._cursor = max(self._cursor, row.number)
        # There may be more than one read gives.
        if len(self._rows) >= INBOX_ROWS:
            self._hinted |= INBOX

    def _hand_out(self, now: float) -> None:
        """Give tasks the inbox rows that were read for them."""
        rows, given, size = self._rows, 0, 0
        while rows and size < TURN_BYTES and (not given or given % PIECE or not self._budget.is_spent(given)):
            row = rows.popleft()
            given += 1
            size += len(row.body)
            active = self._active_tasks.tasks.get(row.task)
            if active is not None:
                self._inbox.receive(active, row, now)


class LocalSubmissions:
    """Tasks submitted in this process, which a turn claims at once: those that wait, and those of the present turn.

    They belong to the process: the Scheduler that it runs takes them, and after a fence the next one does.
    """

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._intake: Intake | None = None
        self._stir: Callable[[], None] | None = None
        self._waiting: deque[tuple[Task, Answered]] = deque()
        self._under_way: dict[str, Answered] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def serve(self, intake: Intake, stir: Callable[[], None]) -> None:
        """Let the Scheduler of ``intake`` take them; ``stir`` wakes it."""
        self._intake, self._stir = intake, stir

    @property
    def has_room(self) -> bool:
        """Whether a Scheduler of this process claims a submission at once: no task that waits for room is overtaken."""
        return self._intake is not None and self._intake.has_room

    def submit(self, task: Task) -> Answered | None:
        """Have the next turn record and claim the task in one commit with its first steps.

        None if no Scheduler of this process has room for it and serves its workflow.
        """
        if self._stir is None or not self.has_room or (task.workflow, task.version) not in self._registry.workflows:
            return None
        if self._intake is not None and task.workflow in self._intake.limited:
            return None
        future: Answered = asyncio.get_running_loop().create_future()
        self._waiting.append((task, future))
        self._stir()
        return future

    def begin(self, instance: str, now: float, budget: TurnBudget) -> Iterator[Task]:
        """The tasks of this turn, as they stand once the instance has claimed them."""
        self._under_way = {}
        given = size = 0
        while self._waiting and size < TURN_BYTES:
            task, future = self._waiting.popleft()
            if not future.cancelled():
                size += len(task.input)
                self._under_way[task.uid] = future
                task.state, task.locked_by, task.started_at = TaskState.PROCESSING, instance, now
                yield task
                given += 1
                if not given % PIECE and budget.is_spent(given):
                    return

    def done(self, task: Task) -> None:
        """The commit that recorded the task is through."""
        future = self._under_way.get(task.uid)
        if future is not None and not future.done():
            future.set_result(Submitted(task.uid, task.id, True, True))

    def missed(self, task: Task, reason: str) -> bool:
        """The task was not recorded; False if it is no submission of this turn."""
        future = self._under_way.get(task.uid)
        if future is None:
            return False
        if not future.done():
            _refuse(future, reason)
        return True

    def end(self) -> None:
        """The Scheduler is over: the clients that wait ask the store, where a recorded task is found by its id."""
        self._intake = self._stir = None
        for future in (*self._under_way.values(), *(future for _, future in self._waiting)):
            if not future.done():
                future.set_result(None)
        self._waiting.clear()


def _refuse(future: Answered, reason: str) -> None:
    if reason.startswith(UNAVAILABLE):
        future.set_exception(StoreUnavailable(reason))
    else:
        future.set_result(None)
