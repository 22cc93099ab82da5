"""Rows of a task's change: each names the state that it leaves and its attempt."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct, field

from stepward.model.records import InboxKind
from stepward.model.states import StepState, TaskState

StepKey = tuple[int, str]
"""Run and key, which identify a step within its task."""


class Finish(Struct, frozen=True, gc=False):
    """Records an outcome: leaves ``running`` (of this attempt) for ``state`` (completed, failed).

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
    """How many commands the run had issued just before the delivery; None without a delivery."""


class Deliver(Struct, frozen=True, gc=False):
    """Gives an outcome that was recorded but not delivered its place in the order (ordinal null -> ordinal)."""

    task: str
    run: int
    key: str
    ordinal: int
    asked: int


class Dispatch(Struct, frozen=True, gc=False):
    """Starts attempt ``attempt`` of a step that is ``not_started``, or ``to_repeat`` after attempt ``attempt - 1``."""

    task: str
    run: int
    key: str
    attempt: int
    started_at: float
    complete_by: float | None


class Watch(Struct, frozen=True, gc=False):
    """Makes the Supervisor watch a running attempt; ``complete_by`` may become earlier (the Agent gave up)."""

    task: str
    run: int
    key: str
    attempt: int
    complete_by: float
    error: bytes | None
    in_doubt: bool
    deferred_at: float | None = None
    """The instant at which the Agent deferred the attempt, if it did; an instant in the row stays."""


class StepMove(Struct, frozen=True, gc=False):
    """Moves a step from ``before`` to ``after`` (abandoned, skipped, undone, failed), and changes nothing else of
    it."""

    task: str
    run: int
    key: str
    before: StepState
    after: StepState
    at: float


class TaskMove(Struct, frozen=True, kw_only=True, gc=False):
    """The new values of the task row, which must be in state ``before``.

    With ``release`` the owner releases the task (locked_by null); then, as at every end, ``inbox`` must equal the
    row's, or the change misses.
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
    """Whether an outcome was recorded: recovery_count becomes 0."""


class Post(Struct, frozen=True, kw_only=True):
    """A row for another task's inbox, with the effects that ARCHITECTURE.md describes."""

    task: str
    kind: InboxKind
    name: str = ""
    body: bytes = b"null"
    sender: str = ""


class AddedEvents(Struct, gc=False):
    """Status events of a task for their queues, put in the commit of the change."""

    before: int
    """The number of events before these; the change misses if the row's count differs."""
    bodies: list[bytes] = field(default_factory=list)
    queues: list[tuple[str, ...]] = field(default_factory=list)
    """The queues of each."""

    def rows(self) -> Iterator[tuple[str, bytes]]:
        """Each event for each of its queues, in order."""
        for body, queues in zip(self.bodies, self.queues, strict=True):
            for queue in queues:
                yield queue, body


ANSWER_SECONDS = 86_400.0
"""Seconds for which the answer to an update outlasts the run that gave it."""
TRIM_ROWS = 1_000
"""Most steps of former runs, most ids of their signals, and most old answers, that one change deletes."""


class Trim(Struct, frozen=True, gc=False):
    """Deletes steps of runs ``first`` to ``last``, ids of signals that were received in runs up to ``last``, and old
    answers to updates."""

    first: int
    last: int
    keeps_effects: bool
    """Whether steps are kept that may have been executed and that an undo has to reach or stop at."""
