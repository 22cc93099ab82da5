"""The record of a run, as its code meets it again: commands by number, deliveries by ordinal.

A command is anything that workflow code asks for, numbered in the order of asking; its row stands under its number.
Commands that left no row (a timer that was cancelled, a wait that was given up) leave a gap.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from operator import attrgetter

from stepward.model.effects import LEFT_OPEN
from stepward.model.pipeline_plan import NO_INPUT
from stepward.model.records import Step
from stepward.model.states import StepKind, StepState
from stepward.workflow.decisions import StepCall
from stepward.workflow.event_loop.futures import Timer
from stepward.workflow.replay import divergence
from stepward.workflow.replay.code_places import CodePlace

GIVEN_UP = frozenset({StepState.ABANDONED, StepState.SKIPPED, StepState.UNDONE})
ENDED = frozenset({StepState.COMPLETED, StepState.FAILED})
DELIVERED = ENDED | {StepState.UNDONE}
"""The states of steps whose end was delivered to the workflow, if they have an ordinal."""
SHOWN = 200

CommandTarget = asyncio.Future[bytes] | Timer


class Recordings:
    """The record of one run, and how far a replay has come in it; what a repair has set aside is no part of it.

    Whatever finds a difference raises Divergence.
    """

    __slots__ = ("_awaited", "_by_number", "_deliveries", "_targets", "highest")

    def __init__(self, steps: Sequence[Step]) -> None:
        self._by_number = {step.number: step for step in steps if step.input != NO_INPUT}
        delivered = [step for step in steps if step.ordinal is not None and step.state in DELIVERED]
        self._deliveries = sorted(delivered, key=attrgetter("ordinal"), reverse=True)
        """The deliveries that remain, the next one last."""
        self._targets: dict[str, CommandTarget] = {}
        self._awaited: list[tuple[Step, asyncio.Future[bytes]]] = []
        """Steps that were never delivered, with what the code waits by."""
        self.highest = max([*self._by_number, *[step.asked or 0 for step in delivered]], default=0)
        """The highest number of a command of which the record knows."""

    def is_beyond(self, number: int) -> bool:
        """Whether a command of that number is new: everything is delivered again, and all that was asked is behind."""
        return number > self.highest and not self._deliveries

    def at(self, number: int) -> Step | None:
        """The row of the command of that number, if it has one that was not met yet."""
        return self._by_number.get(number)

    def meet(self, number: int, kind: StepKind, key: str, place: CodePlace | None) -> Step | None:
        """What the record has for a command that the code asks for now; None if it left no row, or is new."""
        due = self._deliveries[-1] if self._deliveries else None
        if due is not None and due.asked is not None and number > due.asked:
            raise divergence.one_more(due, number, kind, key, place)
        step = self._by_number.pop(number, None)
        if step is not None and (step.kind != kind or step.key != key):
            raise divergence.another(step, kind, key, place)
        return step

    def use_up(self, step: Step) -> None:
        """``step`` is a value: the code is given it at once."""
        if self._due() is step:
            self._deliveries.pop()

    def expect(self, step: Step, target: CommandTarget) -> None:
        """``target`` is to get the recorded outcome of ``step`` in its turn."""
        self._targets[step.key] = target

    def wait(self, step: Step, future: asyncio.Future[bytes]) -> None:
        """``future`` waits for a step that was never delivered."""
        self._awaited.append((step, future))

    def next_due(self, asked: int) -> tuple[Step, CommandTarget] | None:
        """The next outcome to be delivered again, once the code has ``asked`` for as much as it had then."""
        due = self._deliveries[-1] if self._deliveries else None
        if due is None:
            return None
        if due.asked is not None and asked < due.asked:
            raise self._missing(due, due.asked, asked)
        target = self._targets.pop(due.key, None)
        if target is None:
            raise divergence.no_longer(due)
        if target.cancelled():
            raise divergence.given_up(due)
        self._deliveries.pop()
        return due, target

    def conclude(self, asked: int) -> None:
        """All is delivered and the code is quiet: it must have met every row, and wait for what it waited for."""
        if asked < self.highest:
            raise self._missing(None, self.highest, asked)
        for step, future in self._awaited:
            if step.state in GIVEN_UP and not future.done():
                raise divergence.still_awaited(step)
            if step.state not in GIVEN_UP and future.cancelled() and step.asked != LEFT_OPEN:
                raise divergence.given_up(step)

    def check_end(self, asked: int, how: str) -> None:
        """The code is over: nothing may be left in the record."""
        due = self._due()
        if due is not None or asked < self.highest:
            raise divergence.ended(due or self._first_left(), asked + 1, how)

    def _due(self) -> Step | None:
        return self._deliveries[-1] if self._deliveries else None

    def _first_left(self) -> Step | None:
        return self._by_number[min(self._by_number)] if self._by_number else None

    def _missing(self, due: Step | None, recorded: int, asked: int) -> divergence.Divergence:
        first = self._first_left()
        if first is not None and first.number <= recorded:
            return divergence.no_longer(first)
        return divergence.fewer(due, recorded, asked)


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
        return step.state in divergence.OPEN

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
            raise divergence.no_value(number, kind, key, place)
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


def marked(steps: Sequence[Step]) -> dict[str, Step]:
    """Planned stages that were marked as done before the workflow asked for them, by key: they have no command."""
    return {step.key: step for step in steps if step.input == NO_INPUT and has_outcome(step)}


def has_outcome(step: Step) -> bool:
    """Whether the end of ``step`` is, or was, delivered to the workflow; that of a step that was given up is not."""
    return step.state in (ENDED if step.ordinal is None else DELIVERED)


def other_input(step: Step, input: bytes) -> str | None:
    """Where the arguments differ from those that the record holds, if they do.

    A step resubmitted by an operator (``generation``) may hold edited input; a planned one that was marked as done
    holds none.
    """
    if step.input in (input, NO_INPUT) or step.generation:
        return None
    return f"step {step.key}: the record holds the input {shown(step.input)}, the code asks for it with {shown(input)}"


def shown(data: bytes) -> str:
    """JSON bytes as a message shows them."""
    text = data.decode("utf-8", "replace")
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}… ({len(data):,} bytes)"
