"""A Scheduler's changes drawn by chance: mostly what fits the task as it stands, sometimes what does not."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from stepward.model.live_values import WriteKind, WrittenValue
from stepward.model.pipeline_plan import is_planned
from stepward.model.records import Alert, Audit, InboxKind, Step, Task
from stepward.model.states import STEP_MOVES, TASK_ENDS, TASK_MOVES, StepState, TaskState
from stepward.model.tasks.updates import UpdateAnswer
from stepward.store.contract import AddedEvents, Change, Deliver, Dispatch, Post, StepMove, TaskMove, Watch
from tests.store.conformance.world import finish, step
from tests.store.differential import Stream
from tests.store.listing import listed

REPLIES = "replies.shop.web"
KEYS = ("charge/1", "pack/1", "charge/1~undo", "stage/1")
ANSWERS = (b"1", b'"no"')
ERROR = b'{"message":"no","step":"charge/1"}'

Drawn = Callable[[int], Change]
"""A change with the numbers of that store."""


async def drawn_changes(stream: Stream, owner: str, new_task: Callable[..., Task]) -> list[Drawn]:
    """Changes of some of the tasks that the instance holds, of one it does not hold, or of one that is born."""
    store, chance = stream.stores[0], stream.chance
    held = [task for task in await listed(store, limit=60) if task.locked_by == owner]
    changes: list[Drawn] = []
    for task in chance.sample(held, min(len(held), chance.randrange(1, 4))):
        found = await store.client.task(task.id)
        assert found is not None
        changes.append(_change(stream, found, await store.client.steps(task.id)))
    if chance.random() < 0.3:
        changes.append(_birth(stream, owner, new_task))
    return changes


def _birth(stream: Stream, owner: str, new_task: Callable[..., Task]) -> Drawn:
    now = stream.now()
    task = new_task(state=TaskState.PROCESSING, locked_by=owner, started_at=now, reply_to=None, wake_at=None)
    change = Change(task=task.uid, born=task, inserts=[_step(stream, task, "charge/1", 1)])
    if stream.chance.random() < 0.2:
        change.move = TaskMove(before=task.state, after=TaskState.PROCESSED, inbox=0, at=now)
        change.inserts = []
    return lambda number: change


def _change(stream: Stream, task: Task, steps: list[Step]) -> Drawn:
    chance = stream.chance
    change = Change(task=task.uid)
    known = {found.key: found for found in steps if found.run == task.run}
    for found in known.values():
        if chance.random() < 0.6:
            _decide(stream, change, found)
    key = chance.choice(KEYS)
    if key not in known or chance.random() < 0.03:
        change.inserts.append(_step(stream, task, key, len(known) + 1))
    if chance.random() < 0.4:
        change.move = _move(stream, task)
    elif chance.random() < 0.2:
        change.complete_by = stream.now() + chance.choice((5, 50))
    if chance.random() < 0.3:
        for kind in chance.choices(list(WriteKind), k=chance.randrange(1, 4)):
            value = WrittenValue(kind, chance.choice(("tokens", "progress")), str(chance.randrange(9)).encode())
            change.write(value, stream.now())
    if chance.random() < 0.3:
        change.answer([UpdateAnswer(chance.choice("uvw"), chance.random() < 0.5, chance.choice(ANSWERS))], stream.now())
    _tell(stream, change, task)
    taken = stream.pick(stream.inbox[-5:]) if chance.random() < 0.1 else None
    return lambda number: _with_taken(change, taken[number]) if taken is not None else change


def _with_taken(change: Change, number: int) -> Change:
    change.taken = (number,)
    return change


def _step(stream: Stream, task: Task, key: str, number: int) -> Step:
    waits = stream.chance.random() < 0.2
    state, attempt = (StepState.NOT_STARTED, 0) if waits else (StepState.RUNNING, 1)
    complete_by = stream.now() + stream.chance.choice((1, 20))
    return step(task, key, number, state=state, attempt=attempt, complete_by=complete_by, input=b"[1]")


def _decide(stream: Stream, change: Change, found: Step) -> None:
    """One thing that may become of a step."""
    chance, now = stream.chance, stream.now()
    attempt = found.attempt + (chance.random() < 0.03)
    place = (found.task, found.run, found.key)
    if is_planned(found):
        filled = step(Task(uid=found.task, id="", workflow="", version="", run=found.run), found.key, found.number)
        filled.input = b"[1]"
        change.fill(filled)
    elif found.state is StepState.RUNNING and chance.random() < 0.3:
        change.watch(Watch(*place, attempt, now + chance.choice((0, 5)), None, False))
    elif found.state is StepState.RUNNING and chance.random() < 0.8:
        state = chance.choice((StepState.COMPLETED, StepState.COMPLETED, StepState.FAILED))
        ordinal = chance.choice((None, chance.randrange(99)))
        told = finish(found, state, ordinal=ordinal, finished_at=now)
        change.finishes.append(replace(told, attempt=attempt))
    elif found.state in (StepState.NOT_STARTED, StepState.TO_REPEAT):
        change.dispatch(Dispatch(*place, attempt + 1, now, now + 5))
    elif found.state in (StepState.COMPLETED, StepState.FAILED) and found.ordinal is None:
        change.deliver(Deliver(*place, chance.randrange(99), chance.randrange(99)))
    elif STEP_MOVES[found.state]:
        after = chance.choice(sorted(STEP_MOVES[found.state] - {StepState.RUNNING, StepState.TO_REPEAT}))
        change.move_step(StepMove(*place, found.state, after, now))


def _move(stream: Stream, task: Task) -> TaskMove:
    chance, now = stream.chance, stream.now()
    after = chance.choice(sorted(TASK_MOVES[task.state] | {task.state}))
    undo_to = task.undo_to
    if after is TaskState.UNDOING:
        undo_to = chance.choice((TaskState.UNDONE, TaskState.CANCELLED))
    is_free = after in TASK_ENDS or after in (TaskState.PENDING, TaskState.SUSPENDED)
    return TaskMove(
        before=task.state,
        after=after,
        inbox=task.inbox + (chance.random() < 0.05),
        release=is_free or (after is TaskState.WAITING and chance.random() < 0.7),
        output=b"1" if after is TaskState.PROCESSED else None,
        error=ERROR if after is TaskState.ERROR else None,
        wake_at=now + chance.choice((1, 30)) if after is TaskState.WAITING else None,
        undo_to=undo_to,
        complete_by=now + 30 if after is TaskState.PROCESSING else None,
        at=now,
        progress=chance.random() < 0.5,
    )


def _tell(stream: Stream, change: Change, task: Task) -> None:
    chance = stream.chance
    if task.reply_to is not None and chance.random() < 0.3:
        change.status_events = AddedEvents(task.events + (chance.random() < 0.05), [b'{"told":1}'], [(REPLIES,)])
    if chance.random() < 0.1:
        change.alert(Alert(kind="task_error", task=task.uid, task_id=task.id, message="look"))
    if chance.random() < 0.1:
        change.audit(Audit(actor="supervisor", act="told", task=task.uid))
    if chance.random() < 0.2:
        other = chance.choice(stream.uids[-20:] or ["nobody"])
        kind = chance.choice(sorted(InboxKind))
        change.post(Post(task=other, kind=kind, name="1/charge/1", body=ERROR, sender=task.id))
    if chance.random() < 0.1:
        uid = f"{task.uid}/1/child/{chance.randrange(2)}"
        child = Task(
            uid=uid,
            id=uid,
            workflow="refund",
            version="1",
            parent=task.uid,
            parent_run=1,
            parent_step="child/1",
            created_at=stream.now(),
        )
        stream.ids.append(uid)
        stream.uids.append(uid)
        change.begin_child(child)
