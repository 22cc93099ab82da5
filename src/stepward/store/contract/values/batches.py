"""Batches: one directive for every task that a filter finds, carried out at a rate."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from stepward.store.contract.values.directives import Doubt, Later


class BatchVerb(StrEnum):
    """What a batch may ask of its tasks."""

    RESUBMIT = "resubmit"
    MARK_DONE = "mark_done"
    UNDO = "undo"
    CANCEL = "cancel"
    SUSPEND = "suspend"
    RESUME = "resume"
    DELETE = "delete"
    """Deletes tasks that have ended; no directive."""


class BatchState(StrEnum):
    """Where a batch stands; ``stopped`` and ``done`` are its ends."""

    RUNNING = "running"
    PAUSED = "paused"
    STOPPED = "stopped"
    DONE = "done"


BATCH_ENDS = frozenset({BatchState.STOPPED, BatchState.DONE})


class BatchParameters(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The directive's parameters, the same for every task; see ``Directive``."""

    step: str | None = None
    input: str | None = None
    """The edited argument array, as JSON."""
    result: str | None = None
    """The result to record, as JSON."""
    doubt: Doubt | None = None
    later: Later | None = None
    deadline: float | None = None
    """The new end of every task, an instant of the store's clock."""
    complete_seconds: float | None = None
    """The new end of each task, in seconds from the act on it."""
    priority: int | None = None
    is_sealed: bool = False
    """Whether they could not be decrypted: the batch waits for a Supervisor that has the key."""


class BatchRefusal(Struct, frozen=True):
    """A task that refused the act, and why."""

    task: str
    """The task's id."""
    why: str


class Batch(Struct, frozen=True, kw_only=True):
    """A batch as the store keeps it."""

    id: str
    verb: BatchVerb
    filter: str
    """In the language of search; relative times in it count from ``as_of``."""
    workflows: list[str] = []
    labels: dict[str, str] = {}
    """With ``workflows`` the scope of the principal that started it: no task outside is touched. Empty: any."""
    parameters: BatchParameters = BatchParameters()
    actor: str
    reason: str | None = None
    state: BatchState = BatchState.RUNNING
    rate: float
    """Most acts a second."""
    as_of: float
    """Tasks that were submitted later do not belong to it."""
    matched: int
    """How many tasks the filter found when it was started; an estimate unless ``is_exact``."""
    is_exact: bool
    done: int = 0
    refused: int = 0
    refusals: list[BatchRefusal] = []
    """The first tasks that refused, as a sample."""
    cursor_at: float | None = None
    cursor_uid: str | None = None
    """With ``cursor_at`` the last task that was gone through, in the order of submission."""
    next_at: float
    """From when on the rate allows the next act."""
    created_at: float
    finished_at: float | None = None
