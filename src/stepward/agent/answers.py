"""The replies of an Agent: how each way in which a call can end is told to the Scheduler."""

from __future__ import annotations

from typing import Any

from stepward.agent.call import Call
from stepward.errors import Refused, Unrecoverable
from stepward.model.messages import Outcome, Reply
from stepward.payload import encode

LONGEST_MESSAGE = 10_000


def completed(call: Call, output: bytes) -> Reply:
    """The function returned."""
    request = call.request
    return Reply(
        task=request.task,
        run=request.run,
        key=request.key,
        attempt=request.attempt,
        outcome=Outcome.COMPLETED,
        output=output,
        calls=call.calls,
    )


def failed(call: Call, error: BaseException) -> Reply:
    """Repeating is pointless."""
    return _negative(call, Outcome.FAILED, error)


def gave_up(call: Call, error: BaseException) -> Reply:
    """This attempt got nowhere; another may."""
    return _negative(call, Outcome.GAVE_UP, error)


def _negative(call: Call, outcome: Outcome, error: BaseException) -> Reply:
    request = call.request
    return Reply(
        task=request.task,
        run=request.run,
        key=request.key,
        attempt=request.attempt,
        outcome=outcome,
        error=error_json(error),
        maybe_done=call.maybe_done,
        calls=call.calls,
    )


def error_json(error: BaseException) -> bytes:
    """``{"message", "type", "data"}``; data that JSON cannot hold is told as text."""
    data: dict[str, Any] = error.data if isinstance(error, Unrecoverable) else {}
    told = {"message": str(error)[:LONGEST_MESSAGE], "type": type(error).__name__, "data": data}
    try:
        return encode(told, "error")
    except Refused:
        text = ascii(data)[:LONGEST_MESSAGE]
        return encode({**told, "message": ascii(told["message"])[1:-1], "data": {"unreadable": text}}, "error")
