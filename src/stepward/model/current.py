"""The step that an operation or a local step is running for, as its code sees it."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any

from stepward.errors import StepwardError
from stepward.model.messages import Request, traceparent

Beat = Callable[[Request, Any], None]


class CurrentStep:
    """One attempt of a step, told to the code that performs it.

    ``now`` is the store's clock; ``beat`` is told every heartbeat and may be called from any thread.
    """

    __slots__ = ("_beat", "_now", "_request")

    def __init__(self, request: Request, now: Callable[[], float], beat: Beat) -> None:
        self._request = request
        self._now = now
        self._beat = beat

    @property
    def task_id(self) -> str:
        """What callers know the task by."""
        return self._request.task_id

    @property
    def name(self) -> str:
        """The name of the operation or local step: ``payments.charge``."""
        return self._request.operation

    @property
    def attempt(self) -> int:
        """Which attempt of the step this is, from 1."""
        return self._request.attempt

    @property
    def idempotency_key(self) -> str:
        """The same in every attempt of this step, and in no other step."""
        return self._request.idempotency_key

    @property
    def undoes(self) -> str | None:
        """In an undo: the idempotency key of what it undoes."""
        return self._request.undoes

    @property
    def complete_by(self) -> datetime:
        """When this attempt must be over."""
        return datetime.fromtimestamp(self._request.complete_by, UTC)

    @property
    def remaining(self) -> float:
        """Seconds left until then; never below 0."""
        return max(0.0, self._request.complete_by - self._now())

    def headers(self) -> dict[str, str]:
        """The headers to send to a remote service with the call."""
        stamp = self.complete_by.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        headers = {
            "Idempotency-Key": self.idempotency_key,
            "Stepward-Complete-By": stamp,
            "traceparent": traceparent(self._request),
        }
        if self._request.undoes is not None:
            headers["Stepward-Undoes"] = self._request.undoes
        return headers

    def heartbeat(self, progress: Any = None) -> None:
        """Tell that the work goes on: the lease on the request is extended, the complete-by never."""
        self._beat(self._request, progress)


CURRENT: ContextVar[CurrentStep | None] = ContextVar("stepward_current_step", default=None)
"""Set by whoever performs a step, in the context in which its function runs."""


def current_step() -> CurrentStep:
    """The step that is running here; raises StepwardError outside operations and local steps."""
    step = CURRENT.get()
    if step is None:
        raise StepwardError(
            "current_step(): expected to be called inside an operation or step, found none running; "
            "call it from the function that an Agent or Scheduler performs"
        )
    return step
