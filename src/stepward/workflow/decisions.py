"""What goes into and comes out of the workflow engine: history in, decisions out; no clock, no I/O."""

from __future__ import annotations

from typing import Any

from msgspec import Struct, field

from stepward.model.action import Action


class StepCall(Struct, frozen=True, gc=False):
    """The workflow asked for a step that has no record yet; ``number`` is its order of creation in the run."""

    key: str
    number: int
    action: Action[Any, Any]
    input: bytes


class Recorded(Struct, frozen=True, gc=False):
    """An outcome that the engine itself brought about and delivered: a timer fired, a signal taken, a value drawn."""

    key: str
    number: int
    kind: str
    """A StepKind: timer, signal or value."""
    name: str
    input: bytes
    output: bytes
    ordinal: int
    at: float
    taken: int | None = None
    """The inbox number of a signal that is used up."""


class Delivered(Struct, frozen=True, gc=False):
    """The outcome of a step reached the workflow as the ``ordinal``-th of its run."""

    key: str
    ordinal: int


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
    """The replay does not fit the record (or the workflow did I/O): nothing may be written but the error itself."""

    message: str


End = Completed | Failed | Continued | Broken


class Decisions(Struct):
    """What an execution decided since it was last asked, in order."""

    calls: list[StepCall] = field(default_factory=list)
    recorded: list[Recorded] = field(default_factory=list)
    delivered: list[Delivered] = field(default_factory=list)
    abandoned: list[str] = field(default_factory=list)
    """Keys of steps that nobody awaits any more."""
    end: End | None = None
