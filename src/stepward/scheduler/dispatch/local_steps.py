"""Local steps, run beside the Scheduler: plain ones answer like an Agent, transactional ones commit their outcome."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

from stepward.errors import InvalidArguments, InvalidPayload, PayloadTooLarge, Refused, Unrecoverable
from stepward.model.action import Action
from stepward.model.application_calls import contained, failure_of
from stepward.model.current_step import CurrentStep, enter
from stepward.model.live_values import WriteBuffer
from stepward.model.messages.requests import Reply, Request
from stepward.model.records import Step
from stepward.model.states import StepKind, StepState
from stepward.payload import encode
from stepward.runtime.cancelling import end_tasks
from stepward.runtime.threads import Threads
from stepward.scheduler.context import SchedulerContext
from stepward.scheduler.dispatch.stuck_local_steps import StuckSteps
from stepward.store.contract import Finish

OnReply = Callable[[Reply, float | None], None]
"""Called with the reply, and the instant of its commit if it is committed already."""
Attempt = tuple[str, int, str, int]
REFUSED = (Unrecoverable, InvalidArguments, InvalidPayload, PayloadTooLarge)
BESIDE = frozenset({StepKind.LOCAL, StepKind.TRANSACTION})
"""The kinds of steps that run beside the Scheduler, and not at an Agent."""
LAST_WAIT = 1.0
"""Seconds for cancelled steps to end in."""


class StepSuperseded(Exception):
    """The attempt is no longer the step's: its transaction is rolled back and nothing is said."""


class StepExpired(Exception):
    """Names, in what is recorded, an attempt that ran out of time."""


class Unfit(Exception):
    """Arguments or a result that do not fit the signature; ``called`` says whether the function was called."""

    def __init__(self, error: Refused, *, called: bool) -> None:
        super().__init__(str(error))
        self.error = error
        self.called = called


class LocalSteps:
    """Performs local steps under their deadlines; past the complete-by one stops, and if it is plain says nothing."""

    def __init__(
        self,
        context: SchedulerContext,
        answer: OnReply,
        is_answered: Callable[[Attempt], bool],
        threads: Threads | None,
    ) -> None:
        """``is_answered`` says whether what an attempt was answered with has yet to be processed."""
        self._store = context.store
        self._environment = context.environment
        self._answer = answer
        self._is_answered = is_answered
        self._instance = context.instance
        self._payload_bytes = context.settings.payload_bytes
        self._threads = threads
        self._failures = context.failures
        self._keeper = context.keeper
        self._running: dict[Attempt, tuple[asyncio.Task[None], Request]] = {}
        self._stuck = StuckSteps(context.observers)

    def start(self, step: Step, request: Request, action: Action[Any, Any]) -> None:
        """Begin a running step; an attempt that is under way is not begun again."""
        if self.is_running(step):
            return
        attempt = _attempt(step)
        performing = asyncio.get_running_loop().create_task(self._perform(step, request, action))
        self._running[attempt] = performing, request
        performing.add_done_callback(lambda _: self._running.pop(attempt))

    def is_running(self, step: Step) -> bool:
        """Whether that attempt is under way; its reply comes even if the task is read again meanwhile."""
        attempt = _attempt(step)
        return attempt in self._running or self._is_answered(attempt)

    @property
    def in_flight(self) -> int:
        """How many are under way."""
        return len(self._running)

    def count_stuck(self) -> int:
        """How many went past their complete-by and do not stop; a thread that is lost is replaced, up to a bound."""
        until = self._store.now() - LAST_WAIT
        running = [request for _, request in self._running.values() if request.complete_by < until]
        threads = self._stuck.in_threads(until)
        if self._threads is not None:
            self._threads.replace(len(threads))
        for request in (*running, *threads):
            self._stuck.report(request)
        return len(running) + len(threads)

    async def stop(self) -> None:
        """Cancel what still runs; its attempts are taken over like those of a dead process."""
        running = dict(self._running.values())
        # Nothing waits for ever for a function that will not be cancelled, nor for a thread.
        for late in await end_tasks(running, LAST_WAIT):
            self._stuck.report(running[late])
        if self._threads is not None:
            self._threads.close()

    async def _perform(self, step: Step, request: Request, action: Action[Any, Any]) -> None:
        written: list[WriteBuffer] = []
        enter(CurrentStep(request, self._store.now, lambda request, progress: None, written), request)
        remaining = request.complete_by - self._store.now()
        if remaining <= 0:
            return
        deadline = asyncio.timeout(remaining)
        committed_at: float | None = None
        try:
            async with deadline:
                if step.kind is StepKind.TRANSACTION:
                    output, committed_at = await self._in_transaction(request, action, written)
                else:
                    output = await self._plain(request, action)
        except BaseException as caught:
            error = failure_of(caught).with_traceback(caught.__traceback__)
            reply = self._failure(step, request, error, is_late=deadline.expired())
        else:
            reply = request.completed(output, written=written[0].encoded() if written else None)
        if reply is not None:
            self._answer(reply, committed_at)

    def _failure(self, step: Step, request: Request, error: Exception, *, is_late: bool) -> Reply | None:
        """The reply for an attempt that raised; a transaction that was rolled back has done nothing."""
        is_transaction = step.kind is StepKind.TRANSACTION
        is_over = self._store.now() >= request.complete_by
        if isinstance(error, StepSuperseded) or (isinstance(error, TimeoutError) and (is_late or is_over)):
            if is_over and not is_transaction:
                return None  # the Supervisor decides; a transaction may have committed, and then it is never asked
            error = StepExpired("it did not finish within its complete-by")
        maybe_done = bool(getattr(error, "maybe_done", not is_transaction))
        if isinstance(error, Unfit):
            maybe_done = error.called and not is_transaction
            error = error.error
        answer = request.failed if isinstance(error, REFUSED) else request.gave_up
        return answer(self._failures.convert(error), maybe_done=maybe_done)

    async def _plain(self, request: Request, action: Action[Any, Any]) -> bytes:
        return self._encoded(action, await self._call(request, action, *_arguments(request, action)))

    def _encoded(self, action: Action[Any, Any], result: Any) -> bytes:
        try:
            output = encode(result, action.signature.result_of, limit=self._payload_bytes)
            action.signature.check_returned(result, output)
        except Refused as error:
            raise Unfit(error, called=True) from None
        return output

    async def _in_transaction(
        self, request: Request, action: Action[Any, Any], written: list[WriteBuffer]
    ) -> tuple[bytes, float]:
        async with self._store.transaction() as transaction:
            args, kwargs = _arguments(request, action)
            result = await self._call(request, action, (transaction, *args), kwargs)
            output = self._encoded(action, result)
            finish = Finish(
                task=request.task,
                run=request.run,
                key=request.key,
                attempt=request.attempt,
                state=StepState.COMPLETED,
                output=await self._outside(request, output),
                error=None,
                in_doubt=False,
                ordinal=None,
                finished_at=self._store.now(),
            )
            if not await transaction.finish(self._instance, finish, written[0].encoded() if written else None):
                raise StepSuperseded
        self._environment.failpoint("transaction.commit.after")
        return output, finish.finished_at

    async def _outside(self, request: Request, output: bytes) -> bytes:
        """The result as it is written; a large one is put outside while the transaction waits."""
        return output if self._keeper is None else await self._keeper.put(request.task, output)

    async def _call(
        self, request: Request, action: Action[Any, Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        def call() -> Any:
            """Call the function, unless this process was asleep until the complete-by."""
            if self._store.now() >= request.complete_by:
                raise TimeoutError
            with contained:
                return action.fn(*args, **kwargs)

        is_plain = action.kind is not StepKind.TRANSACTION and not inspect.iscoroutinefunction(action.fn)
        if is_plain and self._threads is not None:
            thread = self._threads.start(call)
            self._stuck.watch(thread, request)
            return await asyncio.wrap_future(thread)
        result = call()
        return await result if inspect.isawaitable(result) else result


def _attempt(step: Step) -> Attempt:
    return step.task, step.run, step.key, step.attempt


def _arguments(request: Request, action: Action[Any, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    try:
        return action.signature.unpack(request.input)
    except Refused as error:
        raise Unfit(error, called=False) from None
