"""The parameters of a batch's directive, checked before anything is stored."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from stepward.client.live.live_values import Unset
from stepward.client.submitting import act_arguments, submission_checks
from stepward.durations import Duration, seconds
from stepward.errors import InvalidArguments, Refused
from stepward.payload import encode
from stepward.store.contract import BatchParameters, BatchVerb, Doubt, Later

FITTING = {
    BatchVerb.RESUBMIT: frozenset({"step", "input", "doubt", "later", "complete_by", "priority"}),
    BatchVerb.MARK_DONE: frozenset({"step", "result", "later", "complete_by", "priority"}),
}
"""The parameters that each directive takes; other directives take none."""


def parameters_of(
    verb: BatchVerb,
    *,
    now: float,
    limit: int,
    step: str | None,
    input: Any,
    result: Any,
    doubt: Doubt | str | None,
    later: Later | str | None,
    complete_by: datetime | Duration | None,
    priority: int | None,
) -> BatchParameters:
    """The parameters of a batch; ``limit`` is that of payloads in bytes. Raises Refused."""
    given = {"step": step, "doubt": doubt, "later": later, "complete_by": complete_by, "priority": priority}
    names = {name for name, value in given.items() if value is not None}
    names |= {name for name, value in {"input": input, "result": result}.items() if not isinstance(value, Unset)}
    if unfit := sorted(names - FITTING.get(verb, frozenset())):
        raise Refused(f"{unfit[0]}: expected nothing that {verb} has no use for, found a value; leave it out")
    if verb is BatchVerb.MARK_DONE and (step is None or isinstance(result, Unset)):
        raise Refused("mark_done: expected a step and a result, found one of them missing; give both")
    if not isinstance(input, Unset) and not isinstance(input, list):
        raise InvalidArguments("input: expected a list of the step's arguments, found another value; write […]")
    return BatchParameters(
        step=step,
        input=_json(input, "edited input", limit),
        result=_json(result, "result", limit),
        doubt=act_arguments.one_of(Doubt, doubt, "doubt"),
        later=act_arguments.one_of(Later, later, "later"),
        deadline=submission_checks.deadline(complete_by, None, now) if isinstance(complete_by, datetime) else None,
        complete_seconds=_seconds(complete_by),
        priority=None if priority is None else submission_checks.priority(priority),
    )


def _json(value: Any, what: str, limit: int) -> str | None:
    return None if isinstance(value, Unset) else encode(value, what, limit=limit).decode()


def _seconds(complete_by: datetime | Duration | None) -> float | None:
    if complete_by is None or isinstance(complete_by, datetime):
        return None
    return seconds(complete_by, "complete_by")
