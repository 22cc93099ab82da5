"""What a turn takes in beside replies: inbox rows, free tasks, submissions, and tasks that are to be read anew."""

from __future__ import annotations

from stepward.model.records import History
from stepward.scheduler.claiming import Claiming
from stepward.scheduler.commits import Misses
from stepward.scheduler.context import SchedulerContext
from stepward.scheduler.local_submissions import LocalSubmissions
from stepward.scheduler.tasks.active_tasks import ActiveTasks
from stepward.scheduler.tasks.incoming import Incoming
from stepward.scheduler.tasks.loading import TaskLoader


class Intake:
    """Reads the store when there is a hint or at the slow poll, and knows how many tasks there is room for."""

    def __init__(
        self,
        context: SchedulerContext,
        active_tasks: ActiveTasks,
        loader: TaskLoader,
        incoming: Incoming,
        claiming: Claiming,
        local_submissions: LocalSubmissions,
        misses: Misses,
    ) -> None:
        self._store = context.store
        self._instance = context.instance
        self._settings = context.settings
        self._active_tasks = active_tasks
        self._loader = loader
        self._incoming = incoming
        self._claiming = claiming
        self._local_submissions = local_submissions
        self._misses = misses
        self._polled_at = 0.0
        self._cursor = 0
        self.is_open = True
        """Whether free tasks are claimed."""
        self.is_hinted = True
        """Whether the store may hold something new."""

    def close(self) -> None:
        """Claim nothing more."""
        self.is_open = False
        self._claiming.stop()

    @property
    def has_room(self) -> bool:
        """Whether a submission can be born claimed here: it overtakes nobody who waits for room."""
        return self.is_open and self._room > 0 and not self._claiming.is_behind

    @property
    def _room(self) -> int:
        return self._settings.tasks_in_flight - self._active_tasks.busy - len(self._local_submissions)

    @property
    def has_more(self) -> bool:
        """Whether there is something to take in at once."""
        return self.is_hinted or len(self._local_submissions) > 0

    def next_look(self) -> float:
        """When the store is to be read at the latest."""
        poll, claim = self._polled_at + self._settings.poll, self._claiming.next_look(self._room)
        return poll if claim is None else min(poll, claim)

    async def take(self, now: float) -> None:
        """Inbox rows and free tasks, when there is a hint or at the slow poll; idle, this costs two reads."""
        if self.is_hinted or now - self._polled_at >= self._settings.poll:
            self.is_hinted = False
            self._polled_at = now
            if self._active_tasks.tasks:
                await self._read_inbox(now)
            await self._claiming.look()
        await self._claiming.claim(self._room, now)
        for task in self._local_submissions.begin(self._instance, now):
            self._loader.admit(History(task, [], []), now, is_birth=True)

    async def reload(self) -> None:
        """Read anew what missed, or goes on in another direction."""
        reloads = self._active_tasks.reloads
        if not reloads:
            return
        histories = await self._store.load(self._instance, list(reloads))
        sent, self._active_tasks.reloads = self._active_tasks.reloads, {}
        now = self._store.now()
        for history in histories:
            reason = self._misses.exhausted(history.task.uid)
            if reason is None:
                self._loader.admit(history, now, sent=sent[history.task.uid])
            else:
                self._loader.give_up(history, reason, now)

    async def _read_inbox(self, now: float) -> None:
        rows = await self._store.read_inbox(self._instance, self._cursor)
        for row in rows:
            self._cursor = max(self._cursor, row.number)
            active = self._active_tasks.tasks.get(row.task)
            if active is not None:
                self._incoming.hear(active, row, now)
