"""Values that a run draws once and records at once: side effects, patches, and when a later run begins."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stepward.model.live_values import WriteKind, WrittenValue
from stepward.model.states import TASK_ENDS, StepKind
from stepward.model.tasks.updates import UpdateAnswer
from stepward.payload import NULL, decode, encode
from stepward.workflow.replay.divergence import PATCHED
from stepward.workflow.run_commands import Run

SIDE_EFFECT = "side_effect"
SETTING_OUT = "continue_as_new/1"
"""The record of when a run after the first began."""
TRUE = b"true"


def set_out(run: Run, at: float | None) -> None:
    """Begin the time of a run that ``continue_as_new`` asked for: as recorded, else ``at``, else with the task."""
    step = None if run.replay is None else run.replay.expected(1)
    if step is not None and step.key == SETTING_OUT and step.output is not None:
        run.use(run.ledger.ask(), StepKind.VALUE, SETTING_OUT)
        run.loop.now = decode(step.output, SETTING_OUT, float)
    elif at is not None and run.replay is None:
        run.loop.now = at
        run.record(run.ledger.ask(), SETTING_OUT, encode(at, SETTING_OUT))


def side_effect(run: Run, fn: Callable[[], Any], name: str = SIDE_EFFECT) -> bytes:
    """The JSON of what ``fn`` gave when it was first called; recorded at once."""
    run.loop.check_usable()
    key = run.ledger.next_key(name)
    number = run.ledger.ask()
    recorded = run.use(number, StepKind.VALUE, key)
    run.loop.check_usable()
    if recorded is not None:
        return recorded
    output = encode(fn(), key, limit=run.payload_limit)
    run.record(number, key, output)
    run.check_length()
    run.loop.check_usable()
    return output


def write(run: Run, kind: WriteKind, name: str, value: object) -> None:
    """Record that the workflow writes a value here; a replay writes nothing."""
    run.loop.check_usable()
    output = encode(value, f"{kind} {name}", limit=run.payload_limit)
    key = run.ledger.next_key(f"{kind}:{name}")
    number = run.ledger.ask()
    recorded = run.use(number, StepKind.VALUE, key)
    run.loop.check_usable()
    if recorded is None:
        run.record(number, key, NULL)
        run.ledger.write(WrittenValue(kind, name, output))
        run.check_length()
    run.loop.check_usable()


def answer(run: Run, name: str, answer: UpdateAnswer) -> None:
    """Record that the workflow answers an update here; a replay answers nothing."""
    run.loop.check_usable()
    key = run.ledger.next_key(f"answer:{name}")
    number = run.ledger.ask()
    recorded = run.use(number, StepKind.VALUE, key)
    run.loop.check_usable()
    if recorded is None:
        run.record(number, key, NULL)
        run.ledger.answer(answer)
        run.check_length()
    run.loop.check_usable()


def patched(run: Run, name: str) -> bool:
    """Whether the code goes the new way here: always beyond the record, else where the record has the marker."""
    run.loop.check_usable()
    number = run.ledger.asked + 1
    if not _is_marked(run, number, f"{PATCHED}{name}"):
        return False
    key = run.ledger.next_key(f"{PATCHED}{name}")
    if run.use(run.ledger.ask(), StepKind.VALUE, key) is None:
        run.record(number, key, TRUE)
        run.check_length()
    run.loop.check_usable()
    return True


def _is_marked(run: Run, number: int, name: str) -> bool:
    if run.replay is not None and not run.replay.is_beyond(number):
        step = run.replay.expected(number)
        return step is not None and step.name == name
    return run.task.state not in TASK_ENDS
