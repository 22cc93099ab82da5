"""The divergence of a replay from its record, as a message: both sides, and the line of code that asked."""

from __future__ import annotations

from datetime import UTC, datetime

from stepward.model.records import Step
from stepward.model.states import StepKind, StepState
from stepward.workflow.replay.code_places import CodePlace, shown

OPEN = frozenset({StepState.NOT_STARTED, StepState.RUNNING, StepState.TO_REPEAT})
PATCHED = "patched:"
"""How the names of patch markers begin."""


class Divergence(Exception):
    """The code asks for something else than the record holds; ``place`` is the same for all tasks stopped by it."""

    def __init__(self, message: str, place: str) -> None:
        super().__init__(message)
        self.place = place


def another(step: Step, kind: StepKind, key: str, place: CodePlace | None) -> Divergence:
    """The record has another command at this number."""
    record, code = _both(step, kind, key)
    asks = f"the code asks for {code}{_at(place)}"
    return Divergence(f"the record has {record} as command {step.number}, {asks}", f"{code}{_at(place)}")


def one_more(due: Step, number: int, kind: StepKind, key: str, place: CodePlace | None) -> Divergence:
    """The code asks for something before an outcome of which the record says that nothing was asked in between."""
    code = f"{command(kind, key)}{_at(place)}"
    return Divergence(
        f"the record has nothing as command {number} before it tells of {_of(due)} (ordinal {due.ordinal}), "
        f"the code asks for one more: {code}",
        code,
    )


def no_value(number: int, kind: StepKind, key: str, place: CodePlace | None) -> Divergence:
    """The code asks for a value where the record has none."""
    code = f"{command(kind, key)}{_at(place)}"
    return Divergence(f"the record has no value as command {number}, the code asks for {code}", code)


def no_longer(step: Step) -> Divergence:
    """The record has a row that the code does not ask for."""
    name = _of(step)
    return Divergence(
        f"the record has {name} as command {step.number} ({_state(step)}), the code no longer asks for it", name
    )


def fewer(due: Step | None, recorded: int, asked: int) -> Divergence:
    """The code has asked for less than the record had, by something that left no row."""
    when = "at its end" if due is None else f"before it tells of {_of(due)} (ordinal {due.ordinal})"
    return Divergence(
        f"the record has {recorded:,} commands {when}, the code asks for {asked:,}: a timer or a wait is missing",
        "" if due is None else _of(due),
    )


def given_up(step: Step) -> Divergence:
    """The code has stopped waiting for what the record shows as awaited."""
    name = _of(step)
    found = "under way" if step.ordinal is None else f"delivered (ordinal {step.ordinal})"
    return Divergence(f"the record has {name} as command {step.number}, {found}; the code gave it up before", name)


def still_awaited(step: Step) -> Divergence:
    """The code waits for what the record shows as given up."""
    name = _of(step)
    return Divergence(
        f"the record has {name} as command {step.number}, given up ({step.state}); the code still waits for it", name
    )


def ended(step: Step | None, recorded: int, how: str) -> Divergence:
    """The code is over, the record goes on; ``how`` names the exception and its place if there was one."""
    if step is None:
        return Divergence(f"the record goes on with command {recorded}, the code {how}", how)
    name = _of(step)
    where = f"command {step.number}" if step.ordinal is None else f"ordinal {step.ordinal}"
    return Divergence(f"the record goes on with {name} ({where}), the code {how}", f"{name}: {how}")


def command(kind: StepKind, key: str) -> str:
    """A command as messages name it."""
    name = key.rpartition("/")[0]
    if kind is StepKind.TIMER:
        return "a timer"
    if kind is StepKind.SIGNAL:
        return f"a wait for {name.replace(':', ' ', 1)}"
    if name.startswith(PATCHED):
        return f'patched("{name.removeprefix(PATCHED)}")'
    return name


def _both(step: Step, kind: StepKind, key: str) -> tuple[str, str]:
    """Both sides: by key or by kind where the names alone are equal."""
    record, code = _of(step), command(kind, key)
    if record != code:
        return record, code
    if step.kind != kind:
        return f"{record} (kind {step.kind})", f"{code} (kind {kind})"
    return step.key, key


def _of(step: Step) -> str:
    return command(step.kind, step.key)


def _at(place: CodePlace | None) -> str:
    return "" if place is None else f" ({shown(place)})"


def _state(step: Step) -> str:
    if step.state in OPEN and step.started_at is not None:
        return f"in flight since {datetime.fromtimestamp(step.started_at, UTC).isoformat(timespec='seconds')}"
    return str(step.state)
