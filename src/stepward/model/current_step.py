"""The running step, as the code of its operation or local step sees it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any, NoReturn

from stepward.errors import StepwardError
from stepward.model.live_values import WriteBuffer, WrittenValue
from stepward.model.messages.completion_tokens import Sign
from stepward.model.messages.requests import Request, traceparent
from stepward.model.messages.step_headers import step_headers
from stepward.model.tracing.attempt_span import enter_attempt
from stepward.model.tracing.submission_span import API
from stepward.payload import encode, readable

PROGRESS_BYTES = 2048
SEALED_PROGRESS_BYTES = 2 * PROGRESS_BYTES
"""Most bytes of encrypted progress: base64 makes a third more of it, and the id of the key comes to that."""
SHORTEN = "store it elsewhere and pass a reference"

Beat = Callable[[Request, bytes | None], None]


class FinishedLater(BaseException):
    """Raised to leave a deferred operation; ``except Exception`` does not catch it."""


class CurrentStep:
    """One attempt of a step, for the code that performs it.

    ``now`` is the store's clock; ``beat`` is called at every heartbeat, from any thread, with its progress as JSON;
    ``written`` is empty until the function writes a value; ``sign`` makes completion tokens, None if the step cannot be
    finished from outside.
    """

    __slots__ = ("_beat", "_is_token_out", "_now", "_progress", "_request", "_sign", "_written")

    def __init__(
        self,
        request: Request,
        now: Callable[[], float],
        beat: Beat,
        written: list[WriteBuffer],
        sign: Sign | None = None,
    ) -> None:
        self._request = request
        self._written = written
        self._now = now
        self._beat = beat
        self._sign = sign
        self._progress = request.progress
        self._is_token_out = False

    @property
    def task_id(self) -> str:
        """The task's id for callers."""
        return self._request.task_id

    @property
    def name(self) -> str:
        """The name of the operation or local step: ``payments.charge``."""
        return self._request.operation

    @property
    def attempt(self) -> int:
        """The number of this attempt, from 1."""
        return self._request.attempt

    @property
    def idempotency_key(self) -> str:
        """The same in every attempt of this step, and different in every other step."""
        return self._request.idempotency_key

    @property
    def undoes(self) -> str | None:
        """In an undo: the idempotency key of the step that it undoes."""
        return self._request.undoes

    @property
    def complete_by(self) -> datetime:
        """When this attempt must be complete."""
        return datetime.fromtimestamp(self._request.complete_by, UTC)

    @property
    def remaining(self) -> float:
        """Seconds left until then; never below 0."""
        return max(0.0, self._request.complete_by - self._now())

    def headers(self) -> dict[str, str]:
        """The headers for a call of a remote service."""
        return step_headers(self._request)

    @property
    def progress(self) -> Any:
        """The progress of the last ``heartbeat``, of this attempt or an earlier one; None if there was none."""
        return readable(self._progress)

    def heartbeat(self, progress: Any = None) -> None:
        """Report that the work goes on, with its progress: any JSON of at most 2 KiB.

        The lease on the request is extended, the complete-by never. Operators see the progress within a second or so,
        and the step's next attempt receives it. Raises InvalidPayload or PayloadTooLarge; LeaseLapsed if this process
        was paused for so long that another one has the step: call it before you act.
        """
        encoded = None
        if progress is not None:
            encoded = encode(progress, f"progress of {self.name}", limit=PROGRESS_BYTES, advice=SHORTEN)
            self._progress = encoded
        self._beat(self._request, encoded)

    def write(self, value: WrittenValue) -> None:
        """Have a value committed with the step's outcome; use ``publish`` and ``stream``. Raises PayloadTooLarge."""
        if not self._written:
            self._written.append(WriteBuffer())
        self._written[0].write(value, self.name)

    @property
    def completion_token(self) -> str:
        """A text that allows finishing the step from outside, once, until its complete-by: keep it secret.

        Every attempt has its own. See ``Client.complete``; raises StepwardError if the step cannot be finished from
        outside.
        """
        if self._sign is None:
            raise StepwardError(
                f"completion_token of {self.name}: expected an operation of an Agent, found a step of another kind; "
                "make it an operation"
            )
        self._is_token_out = True
        return self._sign(self._request)

    def finish_later(self) -> NoReturn:
        """Leave the operation, which has done its part; the holder of its ``completion_token`` finishes the step.

        Nothing of the Agent waits meanwhile. Past the complete-by the step is repeated like any that ran out of time.
        """
        if not self._is_token_out:
            raise StepwardError(
                f"finish_later() in {self.name}: expected code that reads completion_token first, found none; read it, "
                "and send it to the person or program that is to finish the step"
            )
        if self._written:
            raise StepwardError(
                f"finish_later() in {self.name}: expected no values written, found {len(self._written[0])}: they are "
                "committed with the outcome, which is recorded elsewhere; write them in a step before this one"
            )
        raise FinishedLater


CURRENT: ContextVar[CurrentStep | None] = ContextVar("stepward_current_step", default=None)
"""Set while a step's function runs, in its context."""


def enter(step: CurrentStep, request: Request) -> None:
    """Make an attempt of a step the current one in this context, and the parent of spans if the application traces."""
    CURRENT.set(step)
    if API in sys.modules:
        enter_attempt(traceparent(request))


def current_step() -> CurrentStep:
    """The step that is running here; raises StepwardError outside operations and local steps."""
    step = CURRENT.get()
    if step is None:
        raise StepwardError(
            "current_step(): expected to be called inside an operation or step, found none running; "
            "call it from the function that an Agent or Scheduler performs"
        )
    return step
