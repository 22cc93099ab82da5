"""The replies to a request, one for each way in which an attempt can end."""

from __future__ import annotations

from stepward.model.messages.requests import Outcome, Progress, Reply, Request

WITHDRAWN = b'{"message":"withdrawn before it began: nobody waits for the step any more","type":"Withdrawn","data":{}}'


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
        agent=request.agent,
        proof=request.proof,
    )


def failed(request: Request, error: bytes, *, maybe_done: bool, calls: int = 1) -> Reply:
    """Repeating is pointless."""
    return _without_output(request, Outcome.FAILED, error, maybe_done=maybe_done, calls=calls)


def gave_up(request: Request, error: bytes, *, maybe_done: bool, calls: int = 1) -> Reply:
    """This attempt failed; another one may succeed."""
    return _without_output(request, Outcome.GAVE_UP, error, maybe_done=maybe_done, calls=calls)


def never_began(request: Request) -> Reply:
    """The request was withdrawn before an Agent took it."""
    return gave_up(request, WITHDRAWN, maybe_done=False, calls=0)


def deferred(request: Request, *, calls: int = 1) -> Reply:
    """The function has done its part; the step is finished from outside."""
    return _without_output(request, Outcome.DEFERRED, calls=calls)


def progress(request: Request, value: bytes, at: float) -> Progress:
    """The function's progress."""
    return Progress(
        task=request.task,
        run=request.run,
        key=request.key,
        attempt=request.attempt,
        progress=value,
        at=at,
        agent=request.agent,
        proof=request.proof,
    )


def _without_output(
    request: Request, outcome: Outcome, error: bytes | None = None, *, maybe_done: bool = False, calls: int
) -> Reply:
    return Reply(
        task=request.task,
        run=request.run,
        key=request.key,
        attempt=request.attempt,
        outcome=outcome,
        error=error,
        maybe_done=maybe_done,
        calls=calls,
        agent=request.agent,
        proof=request.proof,
    )
