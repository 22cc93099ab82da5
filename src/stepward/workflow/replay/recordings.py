"""The record of a run in the store, as a replay follows it: commands by number, deliveries by ordinal.

A command is anything that workflow code asks for, numbered in the order of asking; its row stands under its number.
Commands that left no row (a timer that was cancelled, a wait that was given up) leave a gap.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from operator import attrgetter

from stepward.model.effects import LEFT_OPEN
from stepward.model.pipeline_plan import NO_INPUT
from stepward.model.records import Step
from stepward.model.states import StepKind, StepState
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
