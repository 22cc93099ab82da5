"""What the store holds of a run: its steps by key, and the order in which their outcomes were delivered."""

from __future__ import annotations

import asyncio
import heapq
from collections import deque
from collections.abc import Sequence

from msgspec import structs

from stepward.model.plan import NO_INPUT
from stepward.model.records import Step
from stepward.model.states import StepKind, StepState
from stepward.workflow.handles import Timer

OPEN = frozenset({StepState.NOT_STARTED, StepState.RUNNING, StepState.TO_REPEAT})
SHOWN = 200

Target = asyncio.Future[bytes] | Timer


class Recordings:
    """The recorded steps that the workflow has not met yet, and the outcomes it has asked for."""

    __slots__ = ("_by_key", "_due", "_late", "highest_number", "highest_ordinal")

    def __init__(self, steps: Sequence[Step]) -> None:
        self._by_key = {step.key: step for step in steps}
        self._due: list[tuple[int, Step, Target]] = []
        self._late: deque[tuple[Step, Target]] = deque()
        self.highest_number = max((step.number for step in steps), default=0)
        self.highest_ordinal = max((step.ordinal or 0 for step in steps), default=0)

    def take(self, key: str) -> Step | None:
        """The record of what the workflow asks for now, once."""
        return self._by_key.pop(key, None)

    def expect(self, step: Step, target: Target) -> None:
        """``step`` has an outcome for ``target``, to be delivered in its turn."""
        if step.ordinal is None:
            self._late.append((step, target))
        else:
            heapq.heappush(self._due, (step.ordinal, step, target))

    def next_due(self) -> tuple[Step, Target] | None:
        """The lowest ordinal among recorded outcomes already asked for."""
        return heapq.heappop(self._due)[1:] if self._due else None

    def next_late(self) -> tuple[Step, Target] | None:
        """The next outcome that was recorded but never delivered."""
        return self._late.popleft() if self._late else None

    def keep(self, key: str, *, output: bytes | None, error: bytes | None, at: float) -> None:
        """A live outcome for a recorded step that the workflow has not asked for yet."""
        step = self._by_key.get(key)
        if step is not None and not has_outcome(step):
            state = StepState.COMPLETED if error is None else StepState.FAILED
            self._by_key[key] = structs.replace(step, state=state, output=output, error=error, finished_at=at)

    def unmet(self) -> Step | None:
        """The first delivered outcome that the workflow neither asked for nor met."""
        left = [step for step in self._by_key.values() if step.ordinal is not None and has_outcome(step)]
        left += [step for _, step, _ in self._due]
        return min(left, key=lambda step: step.ordinal or 0, default=None)


def has_outcome(step: Step) -> bool:
    """Whether a workflow is, or was, told how ``step`` ended; nobody is told of what was given up."""
    if step.state is StepState.UNDONE:
        return step.ordinal is not None
    return step.state in (StepState.COMPLETED, StepState.FAILED)


def difference(step: Step, kind: StepKind, input: bytes) -> str | None:
    """How the record differs from what the workflow asks for, if it does.

    A step resubmitted by an operator (``generation``) may hold edited input; a planned one that was marked as done
    holds none.
    """
    if step.kind != kind:
        return f"the record holds a step of kind {step.kind}, the workflow asked for one of kind {kind}"
    if step.input != input and step.generation == 0 and step.input != NO_INPUT:
        return f"the record holds the input {shown(step.input)}, the workflow asked for it with {shown(input)}"
    return None


def shown(data: bytes) -> str:
    """JSON bytes as a message shows them."""
    text = data.decode("utf-8", "replace")
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}… ({len(data):,} bytes)"
