"""The states of tasks and steps, and the moves between them, as data.

CHECK constraints, the drawing in docs/states.md (tests/pages/test_states_drawing.py) and the assertions at run time all
come from these tables.
"""

from __future__ import annotations

from enum import StrEnum


class TaskState(StrEnum):
    """The state of a task."""

    PENDING = "pending"
    PROCESSING = "processing"
    WAITING = "waiting"
    SUSPENDED = "suspended"
    UNDOING = "undoing"
    PROCESSED = "processed"
    UNDONE = "undone"
    CANCELLED = "cancelled"
    ERROR = "error"


class StepState(StrEnum):
    """The state of a step."""

    NOT_STARTED = "not_started"
    RUNNING = "running"
    TO_REPEAT = "to_repeat"
    COMPLETED = "completed"
    FAILED = "failed"
    ABANDONED = "abandoned"
    SKIPPED = "skipped"
    UNDONE = "undone"


class StepKind(StrEnum):
    """The kind of a step: what performs it, and how it ends."""

    OPERATION = "operation"
    UNDO = "undo"
    LOCAL = "local"
    TRANSACTION = "transaction"
    CHILD = "child"
    TIMER = "timer"
    SIGNAL = "signal"
    VALUE = "value"


# What the way of every step asks for has names: on Python 3.11 an attribute of an enum takes 100 ns, as its metaclass
# looks for it in Python's slots; a step asks for some twenty.
WAITING = TaskState.WAITING
NOT_STARTED, RUNNING, COMPLETED = StepState.NOT_STARTED, StepState.RUNNING, StepState.COMPLETED
UNDO, CHILD, OPERATION = StepKind.UNDO, StepKind.CHILD, StepKind.OPERATION

T = TaskState
TASK_MOVES: dict[TaskState, frozenset[TaskState]] = {
    T.PENDING: frozenset({T.PROCESSING, T.SUSPENDED, T.UNDOING, T.CANCELLED, T.ERROR}),
    T.PROCESSING: frozenset(
        {T.WAITING, T.PROCESSED, T.ERROR, T.UNDOING, T.SUSPENDED, T.PENDING, T.CANCELLED, T.UNDONE}
    ),
    T.WAITING: frozenset({T.PROCESSING, T.PROCESSED, T.ERROR, T.UNDOING, T.SUSPENDED, T.PENDING}),
    T.SUSPENDED: frozenset({T.PENDING, T.UNDOING}),
    T.UNDOING: frozenset({T.UNDONE, T.CANCELLED, T.ERROR}),
    T.ERROR: frozenset({T.PENDING, T.UNDOING}),
    T.PROCESSED: frozenset({T.UNDOING}),
    T.UNDONE: frozenset(),
    T.CANCELLED: frozenset(),
}
"""Only an operator moves a task out of ``error`` or ``processed``, in a logged transition."""

TASK_ENDS = frozenset({T.PROCESSED, T.UNDONE, T.CANCELLED, T.ERROR})
"""States in which a task does not change by itself."""

S = StepState
STEP_MOVES: dict[StepState, frozenset[StepState]] = {
    S.NOT_STARTED: frozenset({S.RUNNING, S.ABANDONED, S.SKIPPED, S.COMPLETED, S.FAILED}),
    S.RUNNING: frozenset({S.COMPLETED, S.FAILED, S.TO_REPEAT, S.ABANDONED, S.UNDONE}),
    S.TO_REPEAT: frozenset({S.RUNNING, S.ABANDONED, S.COMPLETED, S.FAILED, S.UNDONE}),
    S.COMPLETED: frozenset({S.UNDONE}),
    S.FAILED: frozenset({S.TO_REPEAT, S.COMPLETED, S.UNDONE}),
    S.ABANDONED: frozenset({S.UNDONE}),
    S.SKIPPED: frozenset(),
    S.UNDONE: frozenset(),
}
