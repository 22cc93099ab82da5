"""Ends of a run, as data: a result, an error or the next run's arguments."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
from types import MappingProxyType

from stepward.error_messages import leaves_of, message_of
from stepward.errors import Refused, StepFailed
from stepward.model.failures import FailureConverter, read
from stepward.payload import decode, encode
from stepward.workflow.control_flow import ContinueAsNew
from stepward.workflow.decisions import Completed, Continued, Failed, RunEnd

MESSAGE_CHARACTERS = 2_000
NO_PLACE: Mapping[str, str] = MappingProxyType({})
FAILURE = ("type", "at", "traceback", "attempt", "earlier")
"""What a StepFailed carries along of the attempts of its step."""


def returned(value: object, workflow: str, *, limit: int) -> Completed | Failed:
    """The workflow returned ``value``; one that is not JSON is a bug."""
    what = f"result of {workflow}"
    try:
        output = encode(value, what, limit=limit)
        if not isinstance(value, str | int | None):
            # ``msgspec.Raw`` becomes part of the JSON as it is, and a parent could not read what is none.
            decode(output, what)
        return Completed(output)
    except Refused as error:
        if isinstance(value, Coroutine):
            value.close()  # the error reports it, so Python need not warn of it
        return failed(type(error).__name__, str(error))


def raised(error: BaseException, workflow: str, failures: FailureConverter) -> Continued | Failed:
    """``error`` left the workflow: the next run, a failed step, or a bug."""
    leaves = list(leaves_of(error))
    if len(leaves) == 1 and isinstance(leaves[0], ContinueAsNew):
        return Continued(leaves[0].input)
    steps = [leaf for leaf in leaves if isinstance(leaf, StepFailed)]
    if len(steps) == len(leaves):
        return _step_failed(steps)
    if isinstance(error, asyncio.CancelledError):
        return failed(
            "CancelledError",
            f"{workflow}: a CancelledError left the workflow, which was not cancelled; catch it",
        )
    bug = next(leaf for leaf in leaves if not isinstance(leaf, StepFailed))
    place = failures.place(error) | {name: at for name, at in failures.place(bug).items() if name == "at"}
    return failed(type(error).__name__, failures.message(error), place)


def failed(kind: str, message: str, place: Mapping[str, str] = NO_PLACE) -> Failed:
    """A bug: nothing is undone, an operator is alerted. ``place`` has its ``at`` and ``traceback``, if known."""
    fields = {name: _encodable(text) for name, text in place.items()}
    value = {"message": _clean(message), "type": kind, "data": {}, "maybe_done": False, **fields}
    return Failed(encode(value, "error"), step_failed=False)


def how_ended(end: RunEnd) -> str:
    """What workflow code did at its end, for a message: its own exception with its place, if there was one."""
    if not isinstance(end, Failed):
        return "asked for its next run" if isinstance(end, Continued) else "returned"
    error = read(end.error)
    at = error.get("at")
    place = f" at {at}" if isinstance(at, str) and not end.step_failed else ""
    return f"raised {error['type']}: {error['message']}{place}"


def step_failed(key: str, error: bytes | None) -> StepFailed:
    """What the workflow sees for a step that failed with the recorded ``error`` object."""
    fields = read(error)
    data = fields.get("data")
    return StepFailed(
        str(fields.get("message") or f"{key} failed"),
        step=key,
        maybe_done=bool(fields.get("maybe_done")),
        data=data if isinstance(data, dict) else {},
        failure={name: fields[name] for name in FAILURE if fields.get(name) is not None},
    )


def _step_failed(steps: list[StepFailed]) -> Failed:
    value = {
        "message": _clean("; ".join(message_of(step) for step in steps)),
        "type": "StepFailed",
        "step": steps[0].step,
        "data": steps[0].data,
        "maybe_done": any(step.maybe_done for step in steps),
        "failure": steps[0].failure,
    }
    try:
        return Failed(encode(value, "error"), step_failed=True)
    except Refused:  # workflow code raised a StepFailed of its own
        return Failed(encode(value | {"data": {}, "failure": {}}, "error"), step_failed=True)


def _clean(message: str) -> str:
    return _encodable(message[:MESSAGE_CHARACTERS])


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
