"""Repairs of tasks in error: what one would do to the record, and whether what is given fits the step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from stepward.errors import Refused
from stepward.model.action import Action
from stepward.model.effects import needs_undo
from stepward.model.records import Step, Task
from stepward.model.states import StepKind
from stepward.payload import encode
from stepward.payload.secret_values import MARKED, SHOWN_MASK, marked_as
from stepward.store.contract import Directive
from stepward.store.rules.directives.concerned_steps import doubtful, has_effect, later_steps, named_step


class RepairPreview(Struct, frozen=True, kw_only=True):
    """What repeating a step, or marking it as done, would do to the record."""

    step: str | None
    """The step that is meant; None if no step failed."""
    in_doubt: list[str]
    """Its generations in doubt, which may have acted or not; an edited input needs ``doubt`` while there are any."""
    set_aside: list[str]
    """The steps that the workflow asked for after the outcome of this one: all of them are set aside."""
    acted: list[str]
    """Of that, what did or may have done something outside; it needs ``later``."""
    can_undo: list[str]
    """Of that, what ``later="undo"`` undoes first; the rest is kept either way."""


def preview_of(task: Task, steps: Sequence[Step], key: str | None) -> RepairPreview:
    """What a repair of that step would do. Raises IllegalTransition for a key that no step has."""
    step = named_step(task, steps, Directive(verb="preview", actor="", step=key))
    if step is None:
        return RepairPreview(step=None, in_doubt=[], set_aside=[], acted=[], can_undo=[])
    later = later_steps(task, steps, step)
    acted = [each for each in later if has_effect(each)]
    return RepairPreview(
        step=step.key,
        in_doubt=[each.key for each in doubtful(steps, step)],
        set_aside=[each.key for each in later],
        acted=[each.key for each in acted],
        can_undo=[each.key for each in acted if needs_undo(each) and not each.irreversible],
    )


def with_secrets(step: Step | None, directive: Directive) -> Directive:
    """The directive with its edited arguments marked as secrets where the recorded ones are.

    Raises Refused for asterisks, which operators are shown in place of a secret.
    """
    for given in (directive.input, directive.result):
        if given is not None and SHOWN_MASK in given:
            raise Refused(
                f"{directive.verb}: expected the secret itself, found the asterisks that stand for it; write it"
            )
    if directive.input is None or step is None or MARKED not in step.input:
        return directive
    edited = marked_as(msgspec.json.decode(directive.input), msgspec.json.decode(step.input))
    return replace(directive, input=encode(edited, "edited arguments"))


def refuse_unfit(step: Step | None, directive: Directive, operations: Mapping[str, Action[Any, Any]]) -> None:
    """Refuse arguments or a result that the step's operation could not read, where this program declares it.

    Raises InvalidArguments or InvalidPayload.
    """
    operation = None if step is None or step.kind is not StepKind.OPERATION else operations.get(step.name)
    if operation is None:
        return
    if directive.input is not None:
        operation.signature.unpack(directive.input)
    if directive.result is not None:
        operation.signature.check_result(directive.result)
