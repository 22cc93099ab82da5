"""What an execution decided since it was last asked, and the counters that give each decision its place."""

from __future__ import annotations

from stepward.model.states import StepKind
from stepward.workflow.decisions import Decisions, Delivered, RecordedValue, RunEnd, StepCall


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
        return f"{name}/{count}"

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

    def abandon(self, key: str) -> None:
        """Nobody awaits that step any more."""
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
