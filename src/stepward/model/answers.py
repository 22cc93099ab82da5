"""The replies to a request: how each way in which an attempt can end is told to its Scheduler."""

from __future__ import annotations

from typing import Any

from stepward.errors import Refused, Unrecoverable, message_of
from stepward.model.messages import Outcome, Progress, Reply, Request
from stepward.payload import encode

LONGEST_MESSAGE = 10_000


def completed(request: Request, output: bytes, *, calls: int = 1) -> Reply:
    """The function returned."""
    return Reply(
        task=request.task,
        run=request.run,
        key=request.key,
        attempt=request.attempt,
        outcome=Outcome.COMPLETED,
        output=output,
        calls=calls,
    )


def failed(request: Request, error: BaseException, *, maybe_done: bool, calls: int = 1) -> Reply:
    """Repeating is pointless."""
    return _negative(request, Outcome.FAILED, error, maybe_done, calls)


def gave_up(request: Request, error: BaseException, *, maybe_done: bool, calls: int = 1) -> Reply:
    """This attempt got nowhere; another may."""
    return _negative(request, Outcome.GAVE_UP, error, maybe_done, calls)


def deferred(request: Request, *, calls: int = 1) -> Reply:
    """The function has done its part; somebody else finishes the step."""
    return Reply(
        task=request.task,
        run=request.run,
        key=request.key,
        attempt=request.attempt,
        outcome=Outcome.DEFERRED,
        calls=calls,
    )


def progress(request: Request, value: bytes, at: float) -> Progress:
    """How far the function is."""
    return Progress(task=request.task, run=request.run, key=request.key, attempt=request.attempt, progress=value, at=at)


def error_json(error: BaseException) -> bytes:
    """``{"message", "type", "data"}``; data that JSON cannot hold is told as text."""
    data: dict[str, Any] = error.data if isinstance(error, Unrecoverable) else {}
    told = {"message": message_of(error)[:LONGEST_MESSAGE], "type": type(error).__name__, "data": data}
    try:
        return encode(told, "error")
    except Refused:
        text = ascii(data)[:LONGEST_MESSAGE]
        return encode({**told, "message": ascii(told["message"])[1:-1], "data": {"unreadable": text}}, "error")


def _negative(request: Request, outcome: Outcome, error: BaseException, maybe_done: bool, calls: int) -> Reply:
    return Reply(
        task=request.task,
        run=request.run,
        key=request.key,
        attempt=request.attempt,
        outcome=outcome,
        error=error_json(error),
        maybe_done=maybe_done,
        calls=calls,
    )
