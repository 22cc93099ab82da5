"""One request's way through its Agent: arguments, breaker, rate, the function, retries, and what to reply."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, NoReturn

from stepward.agent.call import Call
from stepward.agent.declaration import Agent
from stepward.agent.protection.gate import Gate
from stepward.agent.protection.shared_state import SharedState
from stepward.clock import Environment, no_failpoint
from stepward.errors import Refused, UnknownOperation, Unrecoverable
from stepward.events import Observers
from stepward.model.application_calls import contained, failure_of
from stepward.model.current_step import FinishedLater
from stepward.model.messages.requests import Reply
from stepward.payload import Signature, encode
from stepward.runtime.threads import Threads


class OperationTarget(NamedTuple):
    """A function that a request can ask for."""

    fn: Callable[..., Any]
    signature: Signature
    is_coroutine: bool
    is_awaited: bool
    """Whether its result comes later: it is a coroutine function, or runs in a thread."""


class TooLate:
    """What a call gives whose deadline had come before the function was called."""


TOO_LATE = TooLate()


class CallExecution:
    """Performs calls of one Agent instance; knows nothing of queues."""

    def __init__(
        self,
        agent: Agent,
        *,
        now: Callable[[], float],
        is_late: Callable[[Call], bool],
        environment: Environment,
        observers: Observers,
        standing: SharedState,
        threads: Threads | None,
        payload_bytes: int,
    ) -> None:
        self._agent = agent
        self._now = now
        self._is_late = is_late
        self._environment = environment
        self._failpoint = environment.failpoint
        self._has_failpoint = environment.failpoint is not no_failpoint
        self._observers = observers
        self._threads = threads
        self._payload_bytes = payload_bytes
        self._targets = dict(_targets(agent, has_threads=threads is not None))
        self.gate = Gate(agent, now=now, observers=observers, standing=standing)

    async def perform(self, call: Call) -> Reply | None:
        """The reply to the request of ``call``; None where none may be sent."""
        while True:
            try:
                target = self._targets.get((call.request.operation, call.request.undo)) or self._refused(call)
                args, kwargs = target.signature.unpack(call.request.input)
            except Refused as error:
                return call.failed(error)
            if not self.gate.is_open and (refusal := await self.gate.passed(call)):
                return call.gave_up(refusal)
            try:
                begin = self._called if target.is_coroutine else self._called_in_thread
                result = begin(call, target, args, kwargs)
                del args, kwargs  # what the function needs of them, it holds
                if target.is_awaited and result is not TOO_LATE:
                    result = await result
            except FinishedLater:
                self._failpoint("agent.call.after")
                self.gate.succeeded()
                return call.deferred()
            except Unrecoverable as error:
                self.gate.succeeded()
                call.maybe_done |= error.maybe_done
                return call.failed(error)
            except asyncio.CancelledError:
                raise
            except BaseException as error:
                delay = self._failed(call, failure := failure_of(error))
                if delay is None:
                    return call.gave_up(failure)
                await asyncio.sleep(delay)
                continue
            return None if result is TOO_LATE else self._completed(call, target, result)

    def _refused(self, call: Call) -> NoReturn:
        request = call.request
        what = f"an undo of {request.operation!r}" if request.undo else f"{request.operation!r}"
        known = ", ".join(name for name, undo in self._targets if undo == request.undo) or "none"
        raise UnknownOperation(
            f"Agent {self._agent.name!r}: expected one of its operations ({known}), found a request for "
            f"{what}; deploy the Agent that declares it"
        )

    def _called(self, call: Call, target: OperationTarget, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call the function, unless this process was asleep until its deadline."""
        if self._has_failpoint:
            self._failpoint("agent.call.before")
        if self._is_late(call):
            return TOO_LATE
        call.calls += 1
        call.written.clear()
        return target.fn(*args, **kwargs)

    def _called_in_thread(
        self, call: Call, target: OperationTarget, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        if self._threads is None:
            return self._called(call, target, args, kwargs)
        call.thread = self._threads.start(partial(self._contained, call, target, args, kwargs))
        return asyncio.wrap_future(call.thread)

    def _contained(self, call: Call, target: OperationTarget, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        with contained:
            return self._called(call, target, args, kwargs)

    def _completed(self, call: Call, target: OperationTarget, result: Any) -> Reply:
        if self._has_failpoint:
            self._failpoint("agent.call.after")
        self.gate.succeeded()
        try:
            output = encode(result, target.signature.result_of, limit=self._payload_bytes)
            if not call.request.undo:
                target.signature.check_returned(result, output)
        except Refused as error:
            # The effect has happened; only its result cannot be kept.
            call.maybe_done = True
            return call.failed(error)
        return call.completed(output)

    def _failed(self, call: Call, error: Exception) -> float | None:
        """Count a call that failed; seconds until the next one, as ``_delay`` says."""
        self.gate.failed()
        call.maybe_done |= getattr(error, "maybe_done", True)
        return self._delay(call, error)

    def _delay(self, call: Call, error: Exception) -> float | None:
        """Seconds until the next call of this attempt; None when there is none."""
        retry, now = self._agent.retry, self._now()
        if call.dropped or call.calls >= retry.attempts:
            return None
        delay = retry.delay(call.calls, self._environment.random.random())
        delay = max(delay, retry_after(error))
        if now + delay >= call.request.complete_by or not self.gate.may_retry(now):
            return None
        self._observers.emit(
            "agent.retrying",
            agent=self._agent.name,
            task=call.request.task_id,
            step=call.request.key,
            attempt=call.request.attempt,
            calls=call.calls,
            delay=delay,
            error=call.failures.message(error),
        )
        return delay


def retry_after(error: Exception) -> float:
    """The seconds that an exception asks to wait in its ``retry_after``."""
    asked = getattr(error, "retry_after", None)
    return float(asked) if isinstance(asked, int | float) else 0.0


def _targets(agent: Agent, *, has_threads: bool) -> list[tuple[tuple[str, bool], OperationTarget]]:
    targets: list[tuple[tuple[str, bool], OperationTarget]] = []
    for operation in agent.operations.values():
        targets.append(((operation.name, False), _target(operation.fn, operation.signature, has_threads)))
        if operation.undo_fn is not None and operation.undo_signature is not None:
            targets.append(((operation.name, True), _target(operation.undo_fn, operation.undo_signature, has_threads)))
    return targets


def _target(fn: Callable[..., Any], signature: Signature, has_threads: bool) -> OperationTarget:
    is_coroutine = inspect.iscoroutinefunction(fn)
    return OperationTarget(fn, signature, is_coroutine, is_coroutine or has_threads)
