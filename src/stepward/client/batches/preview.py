"""The preview of a batch: what was asked for, and which tasks it would concern."""

from __future__ import annotations

from msgspec import Struct

from stepward.model.states import TaskState
from stepward.store.contract import BatchParameters, BatchVerb

CONFIRMED = frozenset({BatchVerb.RESUBMIT, BatchVerb.MARK_DONE, BatchVerb.UNDO, BatchVerb.CANCEL, BatchVerb.DELETE})
"""Acts for which people type the number of tasks: what they start cannot be taken back."""


class BatchOrder(Struct, frozen=True, kw_only=True):
    """The request of a batch: directive, filter and parameters."""

    verb: BatchVerb
    where: str
    parameters: BatchParameters = BatchParameters()
    workflows: list[str] = []
    labels: dict[str, str] = {}
    """With ``workflows`` the scope of the principal that asks."""
    actor: str


class BatchCount(Struct, frozen=True, array_like=True):
    """What the preview counted, and when."""

    number: int
    is_exact: bool
    as_of: float


class SampledTask(Struct, frozen=True, kw_only=True):
    """One of the tasks that would be asked first."""

    id: str
    workflow: str
    state: TaskState
    refusal: str | None
    """The reason for which the task would refuse; None if it would not."""


class BatchPreview(Struct, frozen=True, kw_only=True):
    """What a batch would do; nothing is changed by it."""

    order: BatchOrder
    count: BatchCount
    sample: list[SampledTask]
    """The first of the tasks, oldest first."""
    token: str
    """Needed to start it."""

    @property
    def needs_confirmation(self) -> bool:
        """Whether people are to type the number of tasks."""
        return self.order.verb in CONFIRMED
