"""Submissions under a rule for their key: the row of the key is locked until the transaction ends.

The rules of two submissions with one key therefore follow one another, from whichever process they come.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from msgspec.structs import replace

from stepward.errors import Refused, TaskConflict
from stepward.model.pipeline_plan import Plans
from stepward.model.records import Task
from stepward.model.states import TASK_ENDS, TaskState
from stepward.model.tasks.directives import DirectiveVerb
from stepward.model.tasks.key_rules import PREDECESSOR, Collect, Debounce, KeyRule, Singleton, Throttle
from stepward.store import rows
from stepward.store.contract import Directive, Submitted
from stepward.store.partitions.placement import shard_of_key
from stepward.store.rules.gathered_arguments import collected
from stepward.store.verbs.connection import VerbConnection
from stepward.store.verbs.tasks import directives, inbox, new_tasks

FORGOTTEN = 2
"""Most keys that one submission deletes whose window is over."""
CANCELLABLE = frozenset({TaskState.PENDING, TaskState.PROCESSING, TaskState.WAITING, TaskState.SUSPENDED})


class Keyed(NamedTuple):
    """A submission under a rule, and the row of its key, which is locked."""

    task: Task
    rule: KeyRule
    plans: Plans
    holder: str
    """The uid of the last task of the key: this one's where there was no row."""
    predecessor: str | None
    """The uid of the task for whose end the holder waits, or waited."""
    since: float

    @property
    def is_first(self) -> bool:
        """Whether there was no row of the key."""
        return self.holder == self.task.uid


async def submit(
    connection: VerbConnection, tasks: Sequence[Task], rule: KeyRule, plans: Plans, actor: str
) -> list[Submitted]:
    """Submits tasks one after the other, as the rule says; returns for each its own or the task that it joined.

    Raises TaskConflict where the rule refuses one.
    """
    await new_tasks.check_shards(connection, [rule.key], shard_of_key)
    return [await _submit(connection, task, rule, plans, actor) for task in tasks]


async def _submit(connection: VerbConnection, task: Task, rule: KeyRule, plans: Plans, actor: str) -> Submitted:
    (row,) = await connection.rows("keyed.lock", *_place(task, rule), task.uid, task.created_at)
    asked = Keyed(task, rule, plans, *row)
    known = await _known(connection, task)
    if known is not None:
        if asked.is_first:
            await connection.change("keyed.forget", *_place(task, rule))
        return known
    match rule:
        case Singleton():
            return await _singleton(connection, asked, rule, actor)
        case Debounce():
            return await _debounce(connection, asked, rule)
        case Throttle():
            return await _throttle(connection, asked, rule)
        case Collect():
            return await _collect(connection, asked, rule)


def _place(task: Task, rule: KeyRule) -> tuple[str, str, str]:
    """The key of the row. Submissions with different response queues are gathered apart."""
    apart = f"\x1f{task.reply_to}" if isinstance(rule, Collect) and task.reply_to is not None else ""
    return task.workflow, type(rule).__name__.lower(), rule.key + apart


async def _known(connection: VerbConnection, task: Task) -> Submitted | None:
    """The task of the submission's id, if the id is known: a submission that is repeated starts nothing."""
    if task.id == task.uid:
        return None
    joined = await connection.row("keyed.joined", task.id)
    if joined is not None:
        return Submitted(joined[0], joined[1], created=False, same=joined[2] == task.workflow)
    if await connection.rows("submission.existing", [task.id]):
        (found,) = await new_tasks.insert(connection, [task], {})
        return found
    return None


async def _singleton(connection: VerbConnection, asked: Keyed, rule: Singleton, actor: str) -> Submitted:
    live = None if asked.is_first else await _holder(connection, asked.holder)
    if live is None or live.state in TASK_ENDS:
        return await _begin(connection, asked, asked.task)
    if rule.if_running == "refuse":
        raise TaskConflict(
            f"workflow {live.workflow}: expected no task of the key {rule.key!r} that has not ended, found "
            f"{live.id}, {live.state}; wait for it, or submit with if_running='join' or 'replace'"
        )
    if rule.if_running == "join":
        return await _join(connection, asked, live)
    return await _replace(connection, asked, actor)


async def _replace(connection: VerbConnection, asked: Keyed, actor: str) -> Submitted:
    """Cancels the holder, and begins the new task once it has ended.

    A holder that waits for its own predecessor never began: the new task waits for that predecessor in its place.
    """
    locked = await inbox.lock(connection, [uid for uid in (asked.holder, asked.predecessor) if uid is not None])
    live = {uid: task for uid, task in locked.items() if task.state not in TASK_ENDS}
    holder = live.get(asked.holder)
    if holder is None:
        return await _begin(connection, asked, asked.task)
    never_began = holder.started_at is None and holder.locked_by is None
    predecessor = live.get(asked.predecessor or "", holder) if never_began else holder
    begun = replace(asked.task, state=TaskState.WAITING, waits_for=PREDECESSOR, wake_at=None)
    submitted = await _begin(connection, asked, begun, predecessor=predecessor.uid)
    await connection.change("keyed.follow", predecessor.uid, begun.uid)
    if holder.state in CANCELLABLE:
        cancel = Directive(verb=DirectiveVerb.CANCEL, actor=actor, reason=f"replaced by task {begun.id}")
        await directives.direct(connection, holder, cancel, begun.created_at)
    return submitted


async def _debounce(connection: VerbConnection, asked: Keyed, rule: Debounce) -> Submitted:
    now = asked.task.created_at
    if not asked.is_first:
        start = min(now + rule.wait_seconds, asked.since + rule.latest_seconds)
        if await connection.change("keyed.postpone", asked.holder, asked.task.input, start, now):
            (row,) = await connection.rows("keyed.holder", asked.holder)
            return await _join(connection, asked, rows.task(row))
    return await _begin(connection, asked, replace(asked.task, wake_at=now + rule.wait_seconds))


async def _throttle(connection: VerbConnection, asked: Keyed, rule: Throttle) -> Submitted:
    now = asked.task.created_at
    ago = now - asked.since
    await connection.change("keyed.forget_old", now, FORGOTTEN)
    if asked.is_first or not -rule.every_seconds < ago < rule.every_seconds:
        return await _begin(connection, asked, asked.task, until=now + rule.every_seconds)
    holder = await _holder(connection, asked.holder)
    if holder is not None and rule.if_too_soon == "join":
        return await _join(connection, asked, holder)
    name = "one that was deleted" if holder is None else holder.id
    raise TaskConflict(
        f"workflow {asked.task.workflow}: expected no task of the key {rule.key!r} within {rule.every_seconds:g} s, "
        f"found {name}, submitted {ago:.3g} s ago; wait, or submit with if_too_soon='join'"
    )


async def _collect(connection: VerbConnection, asked: Keyed, rule: Collect) -> Submitted:
    """Adds the item to the task that gathers; one that it would make too large starts at once without it."""
    now = asked.task.created_at
    holder = None if asked.is_first else await _holder(connection, asked.holder)
    if holder is not None and holder.wake_at is not None:
        grown = collected(holder.input, asked.task.input, rule.size)
        start = now if grown is None or grown.is_full else holder.wake_at
        kept = holder.input if grown is None else grown.input
        if await connection.change("keyed.postpone", holder.uid, kept, start, now) and grown is not None:
            return await _join(connection, asked, holder)
    return await _begin(connection, asked, replace(asked.task, wake_at=now + rule.within_seconds))


async def _begin(
    connection: VerbConnection,
    asked: Keyed,
    task: Task,
    *,
    predecessor: str | None = None,
    until: float | None = None,
) -> Submitted:
    """Inserts the task, which holds the key from now on."""
    await connection.change("keyed.hold", *_place(task, asked.rule), task.uid, predecessor, task.created_at, until)
    (submitted,) = await new_tasks.insert(connection, [task], asked.plans)
    return submitted


async def _join(connection: VerbConnection, asked: Keyed, task: Task) -> Submitted:
    """Records that the submission belongs to that task, so that it joins it again when it is repeated."""
    if asked.task.reply_to is not None and asked.task.reply_to != task.reply_to:
        raise Refused(
            f"reply_to: expected {task.reply_to or 'none'}, that of the task {task.id}, which this submission joins, "
            f"found {asked.task.reply_to}; give the same, or follow handle.events()"
        )
    if asked.task.id != asked.task.uid:
        await connection.change("keyed.record", asked.task.id, task.uid)
    await connection.follow_commits()
    return Submitted(task.uid, task.id, created=False, same=True, joined=True)


async def _holder(connection: VerbConnection, uid: str) -> Task | None:
    """The task as it is now; None if it is deleted."""
    row = await connection.row("keyed.holder", uid)
    return None if row is None else rows.task(row)


async def park_followers(connection: VerbConnection, tasks: Sequence[Task]) -> list[Task]:
    """Those of the tasks, claimed in this transaction, that may go on; the others wait for the end of the task that
    they replace."""
    uids = [task.uid for task in tasks if task.waits_for == PREDECESSOR and task.state is not TaskState.UNDOING]
    blocked = {row[0] for row in await connection.rows("keyed.blocked", uids)} if uids else set[str]()
    await connection.change_each("keyed.park", [(uid,) for uid in sorted(blocked)])
    return [task for task in tasks if task.uid not in blocked]
