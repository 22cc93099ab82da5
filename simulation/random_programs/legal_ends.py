"""How a program must end, computed from the program alone: its state, its result and the effects that stand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from simulation.random_programs.programs import CAUGHT, LATE, Program
from stepward.model.states import TaskState


@dataclass(slots=True)
class LegalEnd:
    """How a part of a program ends."""

    value: Any = None
    fails: bool = False
    """Whether a step's failure leaves it."""
    halts: bool = False
    """Whether it waits for an operator, for ever."""
    stand: dict[int, int] = field(default_factory=dict)
    """By number, how many effects stand for certain."""
    may: set[int] = field(default_factory=set)
    """Numbers that may or may not have been reached."""

    @property
    def stops(self) -> bool:
        """Whether nothing after it is reached."""
        return self.fails or self.halts

    def absorb(self, other: LegalEnd) -> None:
        """Add the effects of another part."""
        for number, count in other.stand.items():
            self.stand[number] = self.stand.get(number, 0) + count
        self.may |= other.may


def end_of(program: Program, told: dict[str, Any]) -> LegalEnd:
    """The end of a program whose signals have these payloads."""
    kind, *rest = program
    if kind in ("sequence", "all"):
        return (_end_of_sequence if kind == "sequence" else _end_of_all)(rest, told)
    if kind in JOINED:
        return JOINED[kind](*rest, told)
    return LEAVES[kind](*rest, told)


def state_of(end: LegalEnd, asked: TaskState) -> TaskState:
    """The state of a task with that end; ``asked`` is what its operator does if it halts."""
    if end.halts:
        return asked
    return TaskState.UNDONE if end.fails else TaskState.PROCESSED


def settled(program: Program, told: dict[str, Any]) -> dict[int, int]:
    """The effects of all runs before the last one."""
    if program[0] != "again":
        return {}
    _, runs, part, _ = program
    end = end_of(part, told)
    return {} if end.stops else {number: count * runs for number, count in end.stand.items()}


def _end_of_sequence(parts: list[Program], told: dict[str, Any]) -> LegalEnd:
    end = LegalEnd(value=[])
    for part in parts:
        found = end_of(part, told)
        end.absorb(found)
        if found.stops:
            return LegalEnd(fails=found.fails, halts=found.halts, stand=end.stand, may=end.may)
        end.value.append(found.value)
    return end


def _end_of_all(parts: list[Program], told: dict[str, Any]) -> LegalEnd:
    found = [end_of(part, told) for part in parts]
    end = LegalEnd(value=[each.value for each in found], fails=any(each.fails for each in found))
    end.halts = not end.fails and any(each.halts for each in found)
    for each in found:
        end.absorb(each)
    if end.fails:
        # What one that fails leaves behind may be reached or not; only if it is alone its own part is certain.
        failing = [each for each in found if each.fails]
        end.stand, every = (failing[0].stand if len(failing) == 1 else {}), set(end.stand) | end.may
        end.may = (every - set(end.stand)) | failing[0].may
    return end


def _end_of_catch(part: Program, otherwise: Program, told: dict[str, Any]) -> LegalEnd:
    end = end_of(part, told)
    if not end.fails:
        return end
    after = end_of(otherwise, told)
    after.absorb(end)
    after.value = [CAUGHT, after.value]
    return after


def _end_of_child(part: Program, told: dict[str, Any]) -> LegalEnd:
    end = end_of(part, told)
    # A child that fails is undone before its parent hears of it.
    return LegalEnd(fails=True) if end.fails else end


def _end_of_again(runs: int, part: Program, last: Program, told: dict[str, Any]) -> LegalEnd:
    end = end_of(part, told)
    if end.stops:
        return end
    after = end_of(last, told)
    end.stand = {number: count * (runs + 1) for number, count in end.stand.items()}
    after.absorb(end)
    return after


JOINED: dict[str, Callable[..., LegalEnd]] = {"catch": _end_of_catch, "child": _end_of_child, "again": _end_of_again}
LEAVES: dict[str, Callable[..., LegalEnd]] = {
    "do": lambda number, declines, told: LegalEnd(fails=True) if declines else LegalEnd(number, stand={number: 1}),
    "sleep": lambda seconds, told: LegalEnd("slept"),
    "late": lambda seconds, told: LegalEnd(LATE),
    "wait": lambda name, told: LegalEnd(told[name]),
    "halt": lambda told: LegalEnd(halts=True),
}
