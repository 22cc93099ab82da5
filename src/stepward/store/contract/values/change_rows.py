"""Rows of a task's change: each names the state that it leaves and the attempt that it means."""

from __future__ import annotations

from msgspec import Struct, field

from stepward.model.records import InboxKind
from stepward.model.states import StepState, TaskState

StepKey = tuple[int, str]
"""Run and key: what names a step within its task."""


class Finish(Struct, frozen=True, gc=False):
    """Leave ``running`` (this very attempt) for ``state`` (completed, failed): an outcome is recorded.

    An ``abandoned`` step keeps its state and records the late result (``ordinal`` is None then).
    """

    task: str
    run: int
    key: str
    attempt: int
    state: StepState
    output: bytes | None
    error: bytes | None
    in_doubt: bool
    ordinal: int | None
    finished_at: float
    asked: int | None = None
    """How many commands the run had asked for just before the delivery; None where there is none."""


class Deliver(Struct, frozen=True, gc=False):
    """Give an outcome that is recorded but was not delivered its place in the order (ordinal null -> ordinal)."""

    task: str
    run: int
    key: str
    ordinal: int
    asked: int


class Dispatch(Struct, frozen=True, gc=False):
    """Start attempt ``attempt`` of a step that is ``not_started`` or ``to_repeat`` at ``attempt - 1``."""

    task: str
    run: int
    key: str
    attempt: int
    started_at: float
    complete_by: float | None


class Watch(Struct, frozen=True, gc=False):
    """Have the Supervisor look at a running attempt; ``complete_by`` may be drawn nearer (the Agent gave up)."""

    task: str
    run: int
    key: str
    attempt: int
    complete_by: float
    error: bytes | None
    in_doubt: bool
    deferred_at: float | None = None
    """Since when the Agent has done its part, if it has; it stays."""


class StepMove(Struct, frozen=True, gc=False):
    """Leave ``before`` for ``after`` (abandoned, skipped, undone, failed); changes nothing else of the step."""

    task: str
    run: int
    key: str
    before: StepState
    after: StepState
    at: float


class TaskMove(Struct, frozen=True, kw_only=True, gc=False):
    """The new face of the task row, from ``before``.

    With ``release`` the task is let go (locked_by null); then, as at every end, ``inbox`` must equal the row's, or the
    change misses.
    """

    before: TaskState
    after: TaskState
    inbox: int | None = None
    release: bool = False
    output: bytes | None = None
    error: bytes | None = None
    complete_by: float | None = None
    wake_at: float | None = None
    waits_for: str | None = None
    undo_to: TaskState | None = None
    run: int | None = None
    """Set with ``input`` by continue_as_new."""
    input: bytes | None = None
    at: float
    progress: bool = True
    """An outcome was recorded: recovery_count returns to 0."""


class Post(Struct, frozen=True, kw_only=True):
    """A row for another task's inbox; ends, wakes and counts as ``Inbox`` says in architecture."""

    task: str
    kind: InboxKind
    name: str = ""
    body: bytes = b"null"
    sender: str = ""


class Telling(Struct, gc=False):
    """Status events for the task's private response queue, which stand there when the change is committed."""

    queue: str
    told: int
    """How many events were told before; the change misses if it is not the row's count."""
    bodies: list[bytes] = field(default_factory=list)


TRIM_ROWS = 1_000
"""Rows of former runs that one change deletes at most, and as many ids of their signals."""


class Trim(Struct, frozen=True, gc=False):
    """Delete steps of runs ``first`` to ``last``, and ids of the signals that came in runs up to ``last``."""

    first: int
    last: int
    keeps_effects: bool
    """Steps stay that may have acted and that undo has to reach, or must not go past."""
