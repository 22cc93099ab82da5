"""What goes into and comes out of the workflow engine: history in, decisions out; no clock, no I/O."""

from __future__ import annotations

from typing import Any

from msgspec import Struct, field

from stepward.model.action import Action


class StepCall(Struct, frozen=True, gc=False):
    """The workflow asked for a step that has no record yet; ``number`` is its place in the order of asking."""

    key: str
    number: int
    action: Action[Any, Any]
    input: bytes


class RecordedValue(Struct, frozen=True, gc=False):
    """An outcome that the engine itself brought about and delivered: a timer fired, a signal taken, a value drawn."""

    key: str
    number: int
    kind: str
    """A StepKind: timer, signal or value."""
    name: str
    input: bytes
    output: bytes
    ordinal: int
    asked: int
    """How many commands the run had asked for just before this was delivered."""
    at: float
    taken: int | None = None
    """The inbox number of a signal that is used up."""


class Delivered(Struct, frozen=True, gc=False):
    """The outcome of a step reached the workflow as the ``ordinal``-th of its run, which had ``asked`` so much."""

    key: str
    ordinal: int
    asked: int


class Completed(Struct, frozen=True):
    """The workflow returned."""

    output: bytes


class Failed(Struct, frozen=True):
    """An exception left the workflow; ``error`` as in Task.error, ``step_failed`` tells a StepFailed from a bug."""

    error: bytes
    step_failed: bool


class Continued(Struct, frozen=True):
    """``continue_as_new``: the next run's arguments."""

    input: bytes


class Broken(Struct, frozen=True):
    """The workflow did what none may (I/O, an endless loop): nothing may be written but the error itself."""

    message: str


class Diverged(Struct, frozen=True):
    """The replay does not fit the record: nothing is written but that the task waits for code that fits.

    ``place`` is the same for all tasks that stop at that difference.
    """

    message: str
    place: str


RunEnd = Completed | Failed | Continued | Broken | Diverged


class Decisions(Struct):
    """What an execution decided since it was last asked, in order."""

    calls: list[StepCall] = field(default_factory=list)
    recorded: list[RecordedValue] = field(default_factory=list)
    delivered: list[Delivered] = field(default_factory=list)
    abandoned: list[str] = field(default_factory=list)
    """Keys of steps that nobody awaits any more."""
    end: RunEnd | None = None

    def take_delivery(self, key: str) -> Delivered | None:
        """Take out the delivery of that step's outcome, if the workflow was given it."""
        for place, delivered in enumerate(self.delivered):
            if delivered.key == key:
                return self.delivered.pop(place)
        return None
