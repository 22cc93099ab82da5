"""Requests to a task from outside its turn: a row for its owner, or a change at once while it has none.

The tasks are locked first, in the order of their uids, so that a decision on a row holds until the transaction ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from stepward.errors import IllegalTransition
from stepward.model.messages.status_events import OF_STATE, ended_with
from stepward.model.records import InboxKind, Task
from stepward.model.states import TASK_ENDS, TaskState
from stepward.model.tasks.control_characters import without_nul
from stepward.model.tasks.directives import DirectiveVerdict, judge
from stepward.model.tasks.stopped_tasks import place_of
from stepward.store.contract import Post
from stepward.store.rows import task as task_of
from stepward.store.rules import inbox_rules
from stepward.store.rules.audit import audited_acts
from stepward.store.verbs import alerts_and_audit
from stepward.store.verbs.connection import VerbConnection
from stepward.store.verbs.tasks import status_events


async def lock(connection: VerbConnection, uids: Iterable[str]) -> dict[str, Task]:
    """Those of the tasks that exist, locked until the transaction ends."""
    wanted = sorted(set(uids))
    found = await connection.rows("inbox.lock", wanted) if wanted else []
    return {row[0]: task_of(row) for row in found}


def concerned(posts: Iterable[Post]) -> set[str]:
    """The tasks that posts may change: their recipients, and the parents of those that a directive cannot move."""
    wanted = set()
    for post in posts:
        wanted.add(post.task)
        if post.kind in inbox_rules.DIRECTIVES and "/" in post.task:
            wanted.add(inbox_rules.parent_of(post.task)[0])
    return wanted


async def post_all(connection: VerbConnection, posts: Sequence[Post], now: float) -> None:
    """Inserts inbox rows; a task that has ended is moved by a directive to undo it, and keeps only the rows of its
    children."""
    if posts:
        round_ = PostRound(connection, await lock(connection, concerned(posts)), now)
        for post in posts:
            await round_.post(post)
        await round_.deliver()


async def insert(connection: VerbConnection, posts: Sequence[Post], now: float) -> None:
    """Inserts rows into the inboxes of live tasks, and wakes sleeping tasks without an owner."""
    if not posts:
        return
    rows = [(post.task, post.kind, post.name, post.body, without_nul(post.sender)) for post in posts]
    await connection.change_each("inbox.insert", rows)
    counts: dict[str, tuple[int, bool]] = {}
    for post in posts:
        count, fails = counts.get(post.task, (0, False))
        counts[post.task] = (count + 1, fails or post.kind is InboxKind.FAIL)
    many = [(uid, *counts[uid]) for uid in sorted(counts)]
    await connection.change_each("inbox.count", many, now)


async def move_free(
    connection: VerbConnection, task: Task, verdict: DirectiveVerdict, now: float, cause: bytes | None = None
) -> None:
    """Moves a task without an owner as judged; ``cause`` is the error that causes the move, if any."""
    if verdict.after is task.state:
        return
    if await connection.change("inbox.move_free", task.uid, verdict.after, verdict.undo_to, now, cause):
        if not audited_acts.is_tried_again(task, verdict.after):
            await status_events.report(connection, task, OF_STATE[verdict.after], now, **ended_with(None, cause))
        if audited_acts.is_mended(task, verdict.after):
            await _mend(connection, task, now)
        place = place_of(task)
        if place is not None and verdict.after is not TaskState.PENDING:
            await alerts_and_audit.resolve(connection, [place], now)
        if verdict.after is TaskState.CANCELLED:
            await connection.change("inbox.skip", task.uid, now)


async def _mend(connection: VerbConnection, task: Task, now: float) -> None:
    found = await connection.rows("inbox.mend", task.uid, now, audited_acts.MENDED, list(audited_acts.BY_HAND))
    await alerts_and_audit.acknowledged(connection, found, audited_acts.MENDED, now)


class PostRound:
    """Posts of one transaction, delivered together unless a directive moves a task between them."""

    def __init__(self, connection: VerbConnection, tasks: dict[str, Task], now: float) -> None:
        self._connection = connection
        self._tasks = tasks
        self._now = now
        self._rows: list[Post] = []

    async def post(self, post: Post) -> None:
        """Adds a post."""
        task = self._tasks.get(post.task)
        if task is None:
            self._report_gone(post)
        elif task.locked_by is None and post.kind in inbox_rules.DIRECTIVES:
            await self._direct(task, post)
        elif task.state not in (inbox_rules.FINAL if post.kind is InboxKind.CHILD else TASK_ENDS):
            self._rows.append(post)

    def hand_on(self, post: Post) -> None:
        """Adds a post for a task that has an owner."""
        self._rows.append(post)

    async def deliver(self) -> None:
        """Writes the rows."""
        rows, self._rows = self._rows, []
        await insert(self._connection, rows, self._now)

    def _report_gone(self, post: Post) -> None:
        if post.kind in inbox_rules.DIRECTIVES:
            self._add(inbox_rules.missing_child_post(self._tasks.get(inbox_rules.parent_of(post.task)[0]), post))

    async def _direct(self, task: Task, post: Post) -> None:
        try:
            verdict = judge(post.kind, task)
        except IllegalTransition:
            verdict = DirectiveVerdict(task.state)
        if verdict.after is task.state and task.state in TASK_ENDS and task.parent is not None:
            self._add(inbox_rules.repeated_end_post(task, self._tasks.get(task.parent), post))
        if verdict.after is not task.state:
            await self.deliver()
            cause = post.body if post.body not in inbox_rules.NOTHING else None
            await move_free(self._connection, task, verdict, self._now, cause)
            self._tasks |= await lock(self._connection, [task.uid])

    def _add(self, post: Post | None) -> None:
        if post is not None:
            self._rows.append(post)
