"""How a run ended, as data: what left the workflow as a result, an error or the next run's arguments."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import PurePath
from types import TracebackType
from typing import Any

from stepward.errors import Refused, StepFailed, message_of
from stepward.payload import decode, encode
from stepward.workflow.control import ContinueAsNew
from stepward.workflow.decisions import Completed, Continued, Failed

MESSAGE_CHARACTERS = 2_000


def returned(value: object, workflow: str, *, limit: int) -> Completed | Failed:
    """The workflow returned ``value``; one that is not JSON is a bug."""
    try:
        return Completed(encode(value, f"result of {workflow}", limit=limit))
    except Refused as error:
        return failed(type(error).__name__, str(error))


def raised(error: BaseException, workflow: str) -> Continued | Failed:
    """``error`` left the workflow: the next run, a failed step, or a bug."""
    leaves = list(_leaves(error))
    if len(leaves) == 1 and isinstance(leaves[0], ContinueAsNew):
        return Continued(leaves[0].input)
    steps = [leaf for leaf in leaves if isinstance(leaf, StepFailed)]
    if len(steps) == len(leaves):
        return _step_failed(steps)
    if isinstance(error, asyncio.CancelledError):
        return failed(
            "CancelledError",
            f"{workflow}: a CancelledError left the workflow, which nobody cancelled; catch it",
        )
    return failed(type(error).__name__, _bug_text(error, leaves), data=_place(leaves[0].__traceback__))


def failed(kind: str, message: str, *, data: dict[str, Any] | None = None) -> Failed:
    """A bug: nothing is undone, an operator is alerted."""
    value = {"message": _clean(message), "type": kind, "data": data or {}, "maybe_done": False}
    return Failed(encode(value, "error"), step_failed=False)


def step_failed(key: str, error: bytes | None) -> StepFailed:
    """What the workflow sees for a step that failed with the recorded ``error`` object."""
    value = decode(error, f"error of {key}") if error is not None else None
    fields: dict[str, Any] = value if isinstance(value, dict) else {}
    data = fields.get("data")
    return StepFailed(
        str(fields.get("message") or f"{key} failed"),
        step=key,
        maybe_done=bool(fields.get("maybe_done")),
        data=data if isinstance(data, dict) else {},
    )


def _step_failed(steps: list[StepFailed]) -> Failed:
    value = {
        "message": _clean("; ".join(message_of(step) for step in steps)),
        "type": "StepFailed",
        "step": steps[0].step,
        "data": steps[0].data,
        "maybe_done": any(step.maybe_done for step in steps),
    }
    try:
        return Failed(encode(value, "error"), step_failed=True)
    except Refused:  # workflow code raised a StepFailed of its own
        return Failed(encode(value | {"data": {}}, "error"), step_failed=True)


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for one in error.exceptions:
            yield from _leaves(one)
    else:
        yield error


def _bug_text(error: BaseException, leaves: list[BaseException]) -> str:
    if not isinstance(error, BaseExceptionGroup):
        return message_of(error)
    return f"{error.message}: " + "; ".join(f"{type(leaf).__name__}: {message_of(leaf)}" for leaf in leaves)


def _clean(message: str) -> str:
    return message[:MESSAGE_CHARACTERS].encode("utf-8", "replace").decode()


def _place(traceback: TracebackType | None) -> dict[str, Any]:
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    if traceback is None:
        return {}
    code = traceback.tb_frame.f_code
    return {"at": f"{PurePath(code.co_filename).name}:{traceback.tb_lineno} in {code.co_name}"}
