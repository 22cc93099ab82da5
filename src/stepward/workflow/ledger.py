"""What an execution decided since it was last asked, and the counters that give each decision its place."""

from __future__ import annotations

from typing import Any

from stepward.model.action import Action
from stepward.model.states import StepKind
from stepward.workflow.decisions import Decisions, Delivered, End, Recorded, StepCall


class Ledger:
    """Keys count per name, numbers per run in order of creation, ordinals per run in order of delivery."""

    __slots__ = ("_counts", "_decisions", "_number", "_ordinal")

    def __init__(self, *, number: int, ordinal: int) -> None:
        self._number = number
        self._ordinal = ordinal
        self._counts: dict[str, int] = {}
        self._decisions: Decisions | None = None

    @property
    def number(self) -> int:
        """How many steps of any kind the run has."""
        return self._number

    def next_key(self, name: str) -> str:
        """The key of the next step of that name."""
        count = self._counts.get(name, 0) + 1
        self._counts[name] = count
        return f"{name}/{count}"

    def call(self, key: str, action: Action[Any, Any], input: bytes) -> None:
        """The workflow asks for a step that has no record."""
        self._number += 1
        self._open().calls.append(StepCall(key, self._number, action, input))

    def deliver(self, key: str) -> None:
        """A step's outcome reaches the workflow now."""
        self._ordinal += 1
        self._open().delivered.append(Delivered(key, self._ordinal))

    def record(
        self,
        kind: StepKind,
        key: str,
        *,
        input: bytes,
        output: bytes,
        at: float,
        taken: int | None = None,
    ) -> None:
        """An outcome of the engine's own reaches the workflow now."""
        self._number += 1
        self._ordinal += 1
        name = key.rpartition("/")[0]
        entry = Recorded(key, self._number, kind, name, input, output, self._ordinal, at, taken)
        self._open().recorded.append(entry)

    def abandon(self, key: str) -> None:
        """Nobody awaits that step any more."""
        self._open().abandoned.append(key)

    def drop(self) -> None:
        """Forget what was not taken."""
        self._decisions = None

    def take(self, end: End | None) -> Decisions:
        """Everything since last time; a step asked for and given up in between was never asked for."""
        decisions = self._decisions or Decisions()
        self._decisions = None
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
