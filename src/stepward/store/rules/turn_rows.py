"""Rows that a turn's changes write, on every engine: the values of each query, in the order of its parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

from msgspec.structs import astuple

from stepward.model.messages.change_kinds import (
    EVERYTHING,
    MESSAGES,
    PROGRESS,
    REPLIES,
    REQUESTS,
    SUPERVISION,
    TASKS,
    Kinds,
)
from stepward.model.pipeline_plan import planned_steps
from stepward.model.records import Step, Task
from stepward.model.states import STEP_MOVES, TASK_ENDS, TASK_MOVES
from stepward.store.contract import Change, StepMove, TaskMove
from stepward.store.rules.change_conflicts import Missed

Values: TypeAlias = "tuple[Any, ...]"
RowsOfChanges = Callable[[Sequence[Change]], list[Values]]


def _inserts(changes: Sequence[Change]) -> list[Values]:
    return [astuple(step) for change in changes for step in change.inserts]


def _fills(changes: Sequence[Change]) -> list[Values]:
    return [astuple(step) for change in changes for step in change.fills]


def _step_moves(changes: Sequence[Change]) -> list[Values]:
    return [_step_move_values(move) for change in changes for move in change.step_moves]


def _finishes(changes: Sequence[Change]) -> list[Values]:
    return [astuple(finish) for change in changes for finish in change.finishes]


def _delivers(changes: Sequence[Change]) -> list[Values]:
    return [astuple(deliver) for change in changes for deliver in change.delivers]


def _dispatches(changes: Sequence[Change]) -> list[Values]:
    return [astuple(dispatch) for change in changes for dispatch in change.dispatches]


def _watches(changes: Sequence[Change]) -> list[Values]:
    return [astuple(watch) for change in changes for watch in change.watches]


def _taken(changes: Sequence[Change]) -> list[Values]:
    return [(number, change.task) for change in changes for number in change.taken]


def _published(changes: Sequence[Change]) -> list[Values]:
    """The last value of each name: a row is written once."""
    last = {(row.task, row.name): astuple(row) for change in changes for row in change.published}
    return [last[place] for place in sorted(last)]


def _appended(changes: Sequence[Change]) -> list[Values]:
    return [astuple(row) for change in changes for row in change.appended]


def _requests(changes: Sequence[Change]) -> list[Values]:
    return [row for change in changes if change.requests for row in change.requests]


class StepQuery(NamedTuple):
    """A query of a turn on steps, inbox rows or messages, each of whose rows must change one row."""

    name: str
    reason: str
    """Of a miss."""
    rows_of: RowsOfChanges
    is_usual: bool = False
    """Whether changes that are not ``unusual`` may have such rows."""


STEP_QUERIES = (
    StepQuery("insert_step", "insert: nothing was inserted", _inserts, is_usual=True),
    StepQuery("fill_step", "fill: the step is not planned", _fills),
    # A step can be given up and answered in one turn: its late result is recorded on the abandoned row.
    StepQuery("move_step", "step move: the step is not in the state that it leaves", _step_moves),
    StepQuery("finish", "finish: the step is not running at that attempt", _finishes, is_usual=True),
    StepQuery("deliver", "deliver: the step has no undelivered outcome", _delivers),
    StepQuery("dispatch", "dispatch: the step does not wait for that attempt", _dispatches),
    StepQuery("watch", "watch: the step is not running at that attempt", _watches),
    StepQuery("take_inbox", "taken: an inbox row is gone", _taken),
    StepQuery("publish", "publish: nothing was written", _published),
    # Behind the steps: a transactional step of the task locks its row before it appends.
    StepQuery("append", "append: nothing was written", _appended),
    StepQuery("put_request", "request: nothing was inserted", _requests),
)
"""In the order in which they apply."""


def unusual(changes: Sequence[Change]) -> list[Change]:
    """The changes that do more than insert their task, insert and finish steps, and move the task."""
    return [
        c
        for c in changes
        if c.fills
        or c.step_moves
        or c.delivers
        or c.dispatches
        or c.watches
        or c.taken
        or c.published
        or c.appended
        or c.requests
        or c.children
        or c.answers
        or c.posts
        or c.alerts
        or c.audits
        or c.plans
        or c.status_events is not None
        or c.trim is not None
        or c.attributes is not None
        or c.fits is not None
    ]


def step_rows(changes: Sequence[Change], rare: Sequence[Change]) -> Iterator[tuple[StepQuery, list[Values]]]:
    """Each of ``STEP_QUERIES`` that has rows, and these; ``rare`` are the unusual ones of the changes."""
    for query in STEP_QUERIES:
        concerned = changes if query.is_usual else rare
        if concerned and (rows := query.rows_of(concerned)):
            yield query, rows


def answer_rows(changes: Sequence[Change]) -> list[Values]:
    """The first answer to each update."""
    first: dict[tuple[str, str], Values] = {}
    for change in changes:
        for row in change.answers:
            first.setdefault((row.task, row.id), astuple(row))
    return list(first.values())


def local_submissions(instance: str, changes: Sequence[Change]) -> list[Task]:
    """Tasks that this commit submits and claims. Raises Missed for one that is claimed for another instance."""
    tasks = [change.born for change in changes if change.born is not None]
    if any(task.locked_by != instance for task in tasks):
        raise Missed(f"born: expected a task locked by {instance}")
    return tasks


def held_tasks(changes: Sequence[Change]) -> set[str]:
    """Uids of tasks that must be held by the instance that commits these changes."""
    return {c.task for c in changes if c.born is None and (c.inserts or c.finishes or is_owners(c))}


def is_owners(change: Change) -> bool:
    """Whether only the task's owner may make the change; other processes may only post."""
    return bool(
        change.inserts
        or change.fills
        or change.finishes
        or change.move
        or change.dispatches
        or change.watches
        or change.delivers
        or change.step_moves
        or change.taken
        or change.children
        or change.status_events
        or change.complete_by
        or change.published
        or change.appended
        or change.answers
    )


def planned_rows(change: Change) -> list[Step]:
    """Planned steps with which the change's new tasks are recorded."""
    plans = change.plans
    return [step for task in change.begun for step in planned_steps(task, plans.get((task.workflow, task.version), ()))]


def trim_rows(changes: Sequence[Change]) -> list[Values]:
    """Task, first and last run, and whether effects are kept, of each change that deletes rows of former runs."""
    return [(change.task, *astuple(change.trim)) for change in changes if change.trim is not None]


def move_values(task: str, move: TaskMove) -> Values:
    """Values of ``move_task``, the uid first. Raises Missed for a move that no task makes."""
    check_move(move)
    ends = move.after in TASK_ENDS
    return (
        task,
        move.before,
        move.after,
        move.inbox,
        ends or move.release,
        move.output,
        move.error,
        move.wake_at,
        move.waits_for,
        move.undo_to,
        move.run,
        move.input,
        move.at if ends else None,
        move.progress,
        move.complete_by,
    )


def check_move(move: TaskMove) -> None:
    """Raises Missed for a move that no task makes."""
    if move.after is not move.before and move.after not in TASK_MOVES[move.before]:
        raise Missed(f"move: no task goes from {move.before} to {move.after}")


def _step_move_values(move: StepMove) -> Values:
    if move.after not in STEP_MOVES[move.before]:
        raise Missed(f"step move: no step goes from {move.before} to {move.after}")
    return astuple(move)


def kinds_of(changes: Sequence[Change]) -> Kinds:
    """What other processes may wait for in a turn: a task's end, what it leaves, tells or writes, a failed attempt."""
    kinds = 0
    for change in changes:
        move = change.move
        if change.posts:
            return EVERYTHING  # It may end a task that nothing owns.
        if move is not None and (move.release or move.after in TASK_ENDS):
            kinds |= TASKS | PROGRESS
        if change.children:
            kinds |= TASKS | REPLIES | MESSAGES
        if change.status_events:
            kinds |= REPLIES | MESSAGES
        if change.requests:
            kinds |= REQUESTS
        if change.published or change.appended or change.answers:
            kinds |= PROGRESS
        if change.alerts or (change.watches and any(watch.error is not None for watch in change.watches)):
            kinds |= SUPERVISION
    return kinds
