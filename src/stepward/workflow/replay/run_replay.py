"""The record of one run as its code meets it again: which row answers a command, and which outcome comes next."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence

from stepward.model.records import Step
from stepward.model.states import StepKind
from stepward.workflow.decisions import StepCall
from stepward.workflow.event_loop.futures import Timer
from stepward.workflow.replay.code_places import CodePlace
from stepward.workflow.replay.divergence import OPEN, no_value
from stepward.workflow.replay.recordings import DELIVERED, CommandTarget, Recordings, has_outcome, marked, other_input


class RunReplay:
    """What the record still holds for a run; whatever finds a difference raises Divergence."""

    __slots__ = ("_held", "_marked", "late", "other_input", "recordings")

    def __init__(self, kept: Sequence[Step]) -> None:
        self.recordings: Recordings | None = Recordings(kept)
        """Until the replay is over."""
        self.late: deque[tuple[Step, asyncio.Future[bytes]]] = deque()
        """Outcomes that were recorded and never delivered."""
        self.other_input: str | None = None
        """Where the arguments of a step first differed from those that its record holds."""
        self._marked = marked(kept)
        self._held: list[StepCall] = []
        """Steps without a row that were asked for while replaying: they are asked for when the replay agrees."""

    def recorded(self, number: int, kind: StepKind, key: str, place: CodePlace | None) -> Step | None:
        """The row of what the workflow asks for now, if it left one."""
        return None if self.recordings is None else self.recordings.meet(number, kind, key, place)

    def marked(self, key: str) -> Step | None:
        """A planned stage that was marked as done before the workflow asked for it."""
        return self._marked.pop(key, None)

    def meet(self, step: Step, future: asyncio.Future[bytes], input: bytes) -> bool:
        """Let ``future`` get the recorded outcome of ``step`` in its turn; whether it waits for a live one instead."""
        if step.input != input:
            self._compare(step, input)
        if self.recordings is not None:
            if step.ordinal is not None and step.state in DELIVERED:
                self.recordings.expect(step, future)
                return False
            self.recordings.wait(step, future)
        if has_outcome(step):
            self.late.append((step, future))
            return False
        return step.state in OPEN

    def meet_timer(self, step: Step, timer: Timer) -> None:
        """Let a timer that the record holds as fired fire at its ordinal."""
        self._compare(step, timer.input)
        if self.recordings is not None:
            self.recordings.expect(step, timer)

    def value(self, number: int, kind: StepKind, key: str, place: CodePlace | None) -> bytes | None:
        """The recorded value of a command; None if it is new."""
        if self.recordings is None:
            return None
        step = self.recordings.meet(number, kind, key, place)
        if step is not None:
            self.recordings.use_up(step)
            return step.output
        if not self.recordings.is_beyond(number):
            raise no_value(number, kind, key, place)
        return None

    def expected(self, number: int) -> Step | None:
        """The row of the command of that number, if it has one that was not met yet."""
        return None if self.recordings is None else self.recordings.at(number)

    def is_beyond(self, number: int) -> bool:
        """Whether a command of that number is new."""
        return self.recordings is None or self.recordings.is_beyond(number)

    def hold(self, call: StepCall) -> bool:
        """Keep a step that has no row until the replay agrees; False when the replay is over."""
        if self.recordings is None:
            return False
        self._held.append(call)
        return True

    def next_recorded(self, asked: int) -> tuple[Step, CommandTarget] | None:
        """The next outcome to be delivered again, once ``asked`` commands were asked for; None at the record's end."""
        if self.recordings is None:
            return None
        due = self.recordings.next_due(asked)
        if due is None:
            self.recordings.conclude(asked)
        return due

    def next_late(self) -> tuple[Step, asyncio.Future[bytes]] | None:
        """The next outcome that was recorded and never delivered, and is still waited for."""
        while self.late:
            step, future = self.late.popleft()
            if not future.cancelled():
                return step, future
        return None

    def finish(self) -> list[StepCall]:
        """End the replay, which agrees with the record; what was asked for beyond it."""
        self.recordings = None
        held, self._held = self._held, []
        return held

    def clear(self) -> None:
        """Forget everything that could still come."""
        self.recordings = None
        self.late.clear()
        self._held.clear()

    def _compare(self, step: Step, input: bytes) -> None:
        if self.other_input is None:
            self.other_input = other_input(step, input)
