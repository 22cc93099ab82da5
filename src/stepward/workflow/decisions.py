"""Input and output of the workflow engine: history in, decisions out; no clock, no I/O."""

from __future__ import annotations

from sys import intern
from typing import Any

from msgspec import Struct, field

from stepward.model.action import Action
from stepward.model.live_values import WrittenValue
from stepward.model.states import StepKind
from stepward.model.tasks.updates import UpdateAnswer


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
    """An exception left the workflow; ``error`` as in Task.error; ``step_failed``: a StepFailed, no bug."""

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
    """Keys of steps that are no longer awaited."""
    written: list[WrittenValue] = field(default_factory=list)
    """Values that the workflow wrote."""
    answers: list[UpdateAnswer] = field(default_factory=list)
    """Answers to updates."""
    end: RunEnd | None = None

    def take_delivery(self, key: str) -> Delivered | None:
        """Take out the delivery of that step's outcome, if the workflow was given it."""
        for place, delivered in enumerate(self.delivered):
            if delivered.key == key:
                return self.delivered.pop(place)
        return None


class DecisionLog:
    """Keys count per name, commands per run in the order of asking, ordinals per run in the order of delivery.

    ``rows`` and ``ordinal`` are those of the record so far.
    """

    __slots__ = ("_counts", "_decisions", "_ordinal", "asked", "rows")

    def __init__(self, *, rows: int = 0, ordinal: int = 0) -> None:
        self.asked = 0
        """How many commands the run has asked for, whether they left a row or not."""
        self.rows = rows
        """How many rows the run has."""
        self._ordinal = ordinal
        self._counts: dict[str, int] = {}
        self._decisions: Decisions | None = None

    def next_key(self, name: str) -> str:
        """The key of the next step of that name."""
        count = self._counts.get(name, 0) + 1
        self._counts[name] = count
        return intern(f"{name}/{count}")  # many tasks wait under one key

    def ask_for(self, name: str, key: str | None) -> tuple[int, str]:
        """The number of a command that the workflow asks for now, and its key: the next of that name if it has none."""
        self.asked += 1
        if key is None:
            count = self._counts[name] = self._counts.get(name, 0) + 1
            key = f"{name}/{count}"
        return self.asked, key

    def ask(self) -> int:
        """The number of a command that the workflow asks for now."""
        self.asked += 1
        return self.asked

    def call(self, call: StepCall) -> None:
        """The workflow asks for a step that has no record."""
        self.rows += 1
        if self._decisions is None:
            self._decisions = Decisions()
        self._decisions.calls.append(call)

    def deliver(self, key: str) -> None:
        """A step's outcome reaches the workflow now."""
        self._ordinal += 1
        if self._decisions is None:
            self._decisions = Decisions()
        self._decisions.delivered.append(Delivered(key, self._ordinal, self.asked))

    def record(
        self,
        kind: StepKind,
        key: str,
        number: int,
        *,
        output: bytes,
        at: float,
        input: bytes,
        taken: int | None = None,
    ) -> None:
        """An outcome of the engine's own reaches the workflow now."""
        self.rows += 1
        self._ordinal += 1
        name = key.rpartition("/")[0]
        entry = RecordedValue(key, number, kind, name, input, output, self._ordinal, self.asked, at, taken)
        self._open().recorded.append(entry)

    def answer(self, answer: UpdateAnswer) -> None:
        """An update is answered, by the workflow or by the check of its wait."""
        self._open().answers.append(answer)

    def write(self, written: WrittenValue) -> None:
        """The workflow writes a value."""
        self._open().written.append(written)

    def abandon(self, key: str) -> None:
        """That step is no longer awaited."""
        self._open().abandoned.append(key)

    def drop(self) -> None:
        """Forget what was not taken."""
        self._decisions = None

    def take(self, end: RunEnd | None) -> Decisions:
        """Everything since last time; a step asked for and given up in between was never asked for."""
        decisions, self._decisions = self._decisions or Decisions(), None
        decisions.end = end
        if decisions.abandoned and decisions.calls:
            _cancel_out(decisions)
        return decisions

    def _open(self) -> Decisions:
        if self._decisions is None:
            self._decisions = Decisions()
        return self._decisions


def _cancel_out(decisions: Decisions) -> None:
    both = {call.key for call in decisions.calls}.intersection(decisions.abandoned)
    decisions.calls = [call for call in decisions.calls if call.key not in both]
    decisions.abandoned = [key for key in decisions.abandoned if key not in both]
