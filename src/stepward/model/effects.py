"""Effects that steps may have had outside, and the names of their generations: pure rules on the rows."""

from __future__ import annotations

from collections.abc import Iterable

from stepward.model.messages.requests import idempotency_key
from stepward.model.records import Step, Task
from stepward.model.states import CHILD, COMPLETED, StepKind, StepState
from stepward.payload import NULL, is_json
from stepward.payload.references import is_elsewhere, joined

SUFFIX = "~undo"
POSSIBLY = frozenset({StepState.RUNNING, StepState.TO_REPEAT, StepState.ABANDONED})
"""States in which an attempt may have had its effect although no outcome is recorded."""
UNDOABLE = frozenset({StepKind.OPERATION, StepKind.CHILD})
GENERATION = "#"
SET_ASIDE = "~"
"""``payments.charge/2`` is set aside as ``payments.charge/2~1``, the next one of that key as ``…~2``."""

LEFT_OPEN = 0
"""The value of ``asked`` for a step without an outcome that a repair revoked: a replay may give it up or wait for
it."""

StepPlace = tuple[int, str, int]
"""Run, key and generation of a step, as the workflow requested it."""


def never_ran(step: Step) -> bool:
    """Whether no attempt of this generation was ever started."""
    return step.attempt == 0 or step.started_at is None


def may_have_acted(step: Step) -> bool:
    """Whether the step's effect happened or may have happened."""
    if step.kind not in UNDOABLE or step.attempt == 0 or step.started_at is None:
        return False
    if step.state in POSSIBLY or step.state is COMPLETED:
        return True
    return step.state is StepState.FAILED and step.in_doubt


def is_in_doubt(step: Step) -> bool:
    """Whether an attempt may have acted without a known result."""
    return step.output is None and step.state is not COMPLETED and may_have_acted(step)


def needs_undo(step: Step) -> bool:
    """Whether undoing the task has to undo this step."""
    return (step.has_undo or step.kind is CHILD) and may_have_acted(step)


def is_deferred(step: Step) -> bool:
    """Whether its Agent has deferred the step, which is finished from outside."""
    return step.deferred_at is not None and step.state is StepState.RUNNING


def undo_key(step: Step) -> str:
    """The key of the step that undoes ``step``."""
    return step.key + SUFFIX


def undo_input(step: Step) -> bytes:
    """The argument array of the undo: the result (null if unknown), then the operation's own arguments."""
    known = step.output is not None and is_json(step.output)
    result = step.output if known and step.output is not None else NULL
    if is_elsewhere(result) or is_elsewhere(step.input):
        return joined(result, step.input)
    rest = step.input[1:]
    return b"[" + result + (b"" if rest == b"]" else b",") + rest


def undo_step(step: Step) -> Step:
    """The row of the undo of ``step``, not yet started."""
    return Step(
        task=step.task,
        run=step.run,
        key=undo_key(step),
        number=step.number,
        name=step.name,
        kind=StepKind.UNDO,
        state=StepState.NOT_STARTED,
        agent=step.agent,
        complete_seconds=step.complete_seconds,
        input=undo_input(step),
    )


def asked_as(step: Step) -> str:
    """The key under which the workflow requested the step; a row that is set aside has another."""
    return step.key if step.set_aside_at is None else step.key.rpartition(SET_ASIDE)[0]


def place_of(step: Step) -> StepPlace:
    """The run, key and generation under which the step was requested."""
    return step.run, asked_as(step), step.generation


def place_name(step: Step) -> str:
    """The place as text: ``1/child/2``, of a later generation ``1/child/2#1``."""
    return f"{step.run}/{generation_key(asked_as(step), step.generation)}"


def read_place(name: str) -> StepPlace:
    """The place that ``place_name`` wrote."""
    run, _, rest = name.partition("/")
    key, _, generation = rest.partition(GENERATION)
    return int(run), key, int(generation or 0)


def generation_key(key: str, generation: int) -> str:
    """A key with its generation, if that is not the first."""
    return f"{key}{GENERATION}{generation}" if generation else key


def key_of(step: Step) -> str:
    """The idempotency key of the step's attempts; of a child, the child's uid."""
    return idempotency_key(step.task, step.run, asked_as(step), step.generation)


def child_id(parent: Task, step: Step) -> str:
    """The id of the step's child task; a child of a later run or generation has another."""
    run = "" if step.run == 1 else f"{step.run}/"
    return f"{parent.id}/{run}{generation_key(asked_as(step), step.generation)}"


def former_generations(steps: Iterable[Step]) -> dict[tuple[int, str], Step]:
    """By run and key, the highest generation of the steps that are set aside."""
    former: dict[tuple[int, str], Step] = {}
    for step in steps:
        if step.set_aside_at is not None:
            place = (step.run, asked_as(step))
            known = former.get(place)
            if known is None or (known.generation, known.attempt) < (step.generation, step.attempt):
                former[place] = step
    return former
